#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/topology/topology.h"
#include "sim/flows.h"

namespace twinrun::sim {

class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t state) : state_(state) {}
  std::uint64_t operator()() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  // 0 … count - 1
  std::uint64_t below(std::uint64_t count) { return (*this)() % count; }

 private:
  std::uint64_t state_;
};

enum class Sizes { kUniform, kEqual };

inline const std::string kFatTree =
    "fat-tree:hosts=1024,ports=16,levels=3,bandwidth=12.5GB/s,latency=0,routing=d-mod-k";

// FT(count, sizes, …): random flows between the 1,024 hosts of kFatTree, three draws each.
inline std::vector<FlowRequest> random_flows(const Topology& topology,
                                             std::size_t count,
                                             Sizes sizes) {
  const std::vector<VertexId> hosts = topology.compute_devices();
  SplitMix64 draw(1);
  std::vector<FlowRequest> requests(count);
  for (FlowRequest& request : requests) {
    const std::uint64_t from = draw.below(1024);
    const std::uint64_t to = (from + 1 + draw.below(1023)) % 1024;
    const auto uniform = static_cast<std::int64_t>(1'000'000 + draw.below(99'000'000));
    request.from = hosts[from];
    request.to = hosts[to];
    request.bytes = {sizes == Sizes::kEqual ? 10'000'000 : uniform};
  }
  return requests;
}

}  // namespace twinrun::sim
