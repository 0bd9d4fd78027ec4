#include "core/nccl/graph.h"

#include <algorithm>
#include <bit>
#include <cctype>

namespace twinrun {

std::optional<NcclAlgorithm> find_nccl_algorithm(std::string_view name) {
  const auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) ==
           std::tolower(static_cast<unsigned char>(b));
  };
  for (std::size_t i = 0; i < kNcclAlgorithmNames.size(); ++i) {
    if (std::equal(name.begin(), name.end(), kNcclAlgorithmNames[i].begin(),
                   kNcclAlgorithmNames[i].end(), same)) {
      return static_cast<NcclAlgorithm>(i);
    }
  }
  return std::nullopt;
}

NcclPath nccl_path(PathClass path) {
  switch (path) {
    case PathClass::kLoc:
      return NcclPath::kLoc;
    case PathClass::kNvl:
      return NcclPath::kNvl;
    case PathClass::kC2c:
      return NcclPath::kC2c;
    case PathClass::kPix:
      return NcclPath::kPix;
    case PathClass::kPxb:
      return NcclPath::kPxb;
    case PathClass::kPhb:
      return NcclPath::kPhb;
    case PathClass::kSys:
      return NcclPath::kSys;
    case PathClass::kNet:
      return NcclPath::kNet;
    case PathClass::kDis:
      break;
  }
  return NcclPath::kDis;
}

int nccl_tree_levels(int nodes) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(nodes))) - 1;
}

int nccl_compute_channels(const NcclSearchGraph& ring, const NcclSystem& system) {
  constexpr int kMostChannels = 64;
  // A channel of a fast network is too much for one thread block, unless there are many already.
  constexpr double kFastRing = 45;
  constexpr int kManyChannels = 16;
  int channels = 2 * ring.channels;
  if (system.sm >= 90 && system.nodes > 1 && ring.intra_gbps > kFastRing &&
      channels < kManyChannels) {
    channels *= 2;
  }
  return std::min(channels, kMostChannels);
}

int nccl_nvls_channels(const NcclSystem& system) {
  if (system.sm < 100) {
    return 16;
  }
  return system.nodes == 1 ? 24 : 32;
}

}  // namespace twinrun
