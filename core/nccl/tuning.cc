#include "core/nccl/tuning.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "core/base/check.h"
#include "core/nccl/cost.h"

namespace twinrun {
namespace {

// Most threads of a block at the start (3.6).
int most_threads(const NcclChoice& choice, const NcclSearchGraph& ring) {
  const bool slow_ring = ring.channels * ring.intra_gbps <= 12;
  switch (choice.protocol) {
    case NcclProtocol::kLl:
      return 512;
    case NcclProtocol::kLl128:
      return 640;
    case NcclProtocol::kSimple:
      break;
  }
  if (choice.algorithm == NcclAlgorithm::kNvls || choice.algorithm == NcclAlgorithm::kNvlsTree) {
    return 640;
  }
  return choice.algorithm == NcclAlgorithm::kRing && slow_ring ? 256 : 512;
}

// Bytes a thread must have before it is worth its place (3.6).
std::int64_t bytes_per_thread(const NcclChoice& choice, int ranks) {
  if (choice.protocol == NcclProtocol::kSimple) {
    return 64;
  }
  const bool ring_ll =
      choice.protocol == NcclProtocol::kLl && choice.algorithm == NcclAlgorithm::kRing;
  return ring_ll ? std::int64_t{8} * ranks : 8;
}

NcclCost cost_of(const NcclSetting& setting, const NcclWay& way) {
  const double bandwidth = nccl_allows(setting, way) ? nccl_bandwidth(setting, way) : 0;
  return bandwidth > 0 ? NcclCost{true, nccl_latency_us(setting, way), bandwidth} : NcclCost{};
}

}  // namespace

NcclModel::NcclModel(const NcclSystem& system,
                     const NcclSearchGraphs& graphs,
                     const NcclTables& tables)
    : system_(system),
      graphs_(graphs),
      tables_(tables),
      compute_channels_(nccl_compute_channels(graphs.ring, system)) {
  TWINRUN_CHECK(system.nodes >= 1 && system.ranks >= system.nodes);
  if (system.ranks == 1) {
    return;  // nothing to send, so nothing to choose among
  }
  const NcclSetting setting{system_, graphs_, tables_};
  for (std::size_t c = 0; c < costs_.size(); ++c) {
    for (std::size_t a = 0; a < costs_[c].size(); ++a) {
      for (std::size_t p = 0; p < costs_[c][a].size(); ++p) {
        costs_[c][a][p] =
            cost_of(setting, {static_cast<CollectiveKind>(c), static_cast<NcclAlgorithm>(a),
                              static_cast<NcclProtocol>(p)});
      }
    }
  }
}

const NcclCost& NcclModel::cost(CollectiveKind collective,
                                NcclAlgorithm algorithm,
                                NcclProtocol protocol) const {
  return costs_[static_cast<std::size_t>(collective)][static_cast<std::size_t>(algorithm)]
               [static_cast<std::size_t>(protocol)];
}

std::optional<double> NcclModel::time_us(CollectiveKind collective,
                                         NcclAlgorithm algorithm,
                                         NcclProtocol protocol,
                                         Bytes bytes,
                                         int pipelined) const {
  TWINRUN_CHECK(bytes.count >= 0 && pipelined >= 1);
  const NcclCost& found = cost(collective, algorithm, protocol);
  if (!found.allowed) {
    return std::nullopt;
  }
  const bool ring = algorithm == NcclAlgorithm::kRing;
  double latency = found.latency_us * (ring ? pipelined : (pipelined + 9) / 10);
  double bandwidth = found.bandwidth_gbps;
  const bool reduces_all = collective == CollectiveKind::kAllReduce;
  const auto size =
      static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(bytes.count) / 64));
  if (reduces_all && algorithm == NcclAlgorithm::kTree) {
    const auto& corrections = tables_.tree_correction[static_cast<std::size_t>(protocol)];
    // Below 64 bytes and beyond the last entry the bandwidth stands as it is.
    bandwidth *= size >= 1 && size <= corrections.size() ? corrections[size - 1] : 1;
  }
  const double bytes_each = static_cast<double>(bytes.count) / compute_channels_ / system_.ranks;
  if (reduces_all && ring && protocol == NcclProtocol::kSimple && system_.nodes > 1 &&
      bytes_each >= tables_.plateau_bytes) {
    latency *= system_.sm < 80 ? tables_.plateau_factor_before_sm80 : tables_.plateau_factor;
  }
  return latency + static_cast<double>(bytes.count) / (1000 * bandwidth);
}

std::optional<NcclChoice> NcclModel::choose(CollectiveKind collective,
                                            Bytes bytes,
                                            int pipelined,
                                            std::optional<NcclAlgorithm> only) const {
  if (system_.ranks == 1 || bytes.count == 0) {
    return NcclChoice{};
  }
  std::optional<NcclChoice> best;
  for (std::size_t a = 0; a < kNcclAlgorithmNames.size(); ++a) {
    for (std::size_t p = 0; p < kNcclProtocolNames.size(); ++p) {
      const auto algorithm = static_cast<NcclAlgorithm>(a);
      const auto protocol = static_cast<NcclProtocol>(p);
      if (only && algorithm != *only) {
        continue;
      }
      const std::optional<double> time = time_us(collective, algorithm, protocol, bytes, pipelined);
      if (time && (!best || *time < best->time_us)) {
        best = NcclChoice{algorithm, protocol, *time, 0, 0};
      }
    }
  }
  if (best) {
    set_threads_and_channels(*best, bytes);
  }
  return best;
}

// Fewer channels, then fewer threads, while each would have too little to do (3.6). A block has
// whole groups of 128 threads as long as it is halved, and never fewer than three warps.
void NcclModel::set_threads_and_channels(NcclChoice& choice, Bytes bytes) const {
  constexpr int kWarp = 32;
  const bool nvls =
      choice.algorithm == NcclAlgorithm::kNvls || choice.algorithm == NcclAlgorithm::kNvlsTree;
  choice.threads = most_threads(choice, graphs_.ring);
  if (nvls) {
    choice.channels = nccl_nvls_channels(system_);
    return;
  }
  choice.channels = compute_channels_;
  const std::int64_t threshold = bytes_per_thread(choice, system_.ranks);
  const auto too_many = [&] { return bytes.count < threshold * choice.channels * choice.threads; };
  while (choice.channels > 1 && too_many()) {
    --choice.channels;
  }
  while (choice.threads % 128 == 0 && too_many()) {
    choice.threads /= 2;
  }
  if (choice.algorithm == NcclAlgorithm::kTree) {
    choice.threads = 640;
  } else if (choice.algorithm == NcclAlgorithm::kRing && choice.protocol == NcclProtocol::kSimple) {
    choice.threads += kWarp;  // one warp only synchronises
  }
  choice.threads = std::max(choice.threads, 3 * kWarp);
}

}  // namespace twinrun
