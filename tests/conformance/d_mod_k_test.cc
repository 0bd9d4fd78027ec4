#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "tests/core/topology/topologies_for_tests.h"

namespace twinrun {
namespace {

class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t state) : state_(state) {}
  std::uint64_t operator()() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

// The route of peer-baselines.md section 1 (FT), by names: agg (pod, a) is number pod*8 + a, core
// (a, c) number a*8 + c.
std::string expected(std::uint64_t s, std::uint64_t d) {
  const auto host = [](std::uint64_t h) { return "node" + std::to_string(h) + "/cpu0"; };
  const auto leaf = [](std::uint64_t h) { return " leaf" + std::to_string(h / 8); };
  const std::uint64_t a = d % 8;
  const std::uint64_t c = d / 8 % 8;
  const auto agg = [&](std::uint64_t h) { return " agg" + std::to_string(h / 64 * 8 + a); };
  if (s / 8 == d / 8) {
    return host(s) + leaf(s) + " " + host(d);
  }
  if (s / 64 == d / 64) {
    return host(s) + leaf(s) + agg(s) + leaf(d) + " " + host(d);
  }
  return host(s) + leaf(s) + agg(s) + " core" + std::to_string(a * 8 + c) + agg(d) + leaf(d) + " " +
         host(d);
}

TEST(DModK, EqualsTheFormulaOnTenThousandPairs) {
  const Topology topology = topology_of(
      "fat-tree:hosts=1024,ports=16,levels=3,bandwidth=12.5GB/s,latency=0,routing=d-mod-k");
  Router router(topology);
  SplitMix64 draw(1);
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t s = draw() % 1024;
    const std::uint64_t d = (s + 1 + draw() % 1023) % 1024;
    draw();  // the size
    const auto route = router.route(topology.vertex_in(id_at<NodeId>(s), 0),
                                    topology.vertex_in(id_at<NodeId>(d), 0), draw());
    ASSERT_TRUE(route);
    ASSERT_EQ(way(topology, *route), expected(s, d));
    ASSERT_EQ(route->bandwidth.bytes_per_s, 12.5e9);
    ASSERT_EQ(route->latency.ps, 0);
  }
}

}  // namespace
}  // namespace twinrun
