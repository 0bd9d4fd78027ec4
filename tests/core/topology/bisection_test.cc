#include "core/topology/bisection.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/core/topology/topologies_for_tests.h"

namespace twinrun {
namespace {

double gigabytes(const std::string& argument) {
  return to_gigabytes_per_second(bisection_bandwidth(topology_of(argument)));
}

TEST(Bisection, OfOneSwitchIsHalfTheHosts) {
  for (const int hosts : {2, 3, 8, 33, 1024}) {
    EXPECT_DOUBLE_EQ(gigabytes("single-switch:bandwidth=12.5GB/s,hosts=" + std::to_string(hosts)),
                     hosts / 2 * 12.5);
  }
}

TEST(Bisection, OfAFullFatTreeIsThatOfOneSwitch) {
  EXPECT_DOUBLE_EQ(gigabytes("fat-tree:hosts=1024,ports=16,levels=3,bandwidth=12.5GB/s"),
                   512 * 12.5);
}

TEST(Bisection, OversubscriptionDividesIt) {
  EXPECT_DOUBLE_EQ(
      gigabytes("leaf-spine:hosts=64,nodes_per_leaf=16,bandwidth=10GB/s,oversubscription=2"), 160);
  EXPECT_DOUBLE_EQ(gigabytes("p3.2xlarge:nodes=8,nic=10Gb/s"), 4 * 1.25);
  EXPECT_DOUBLE_EQ(gigabytes("p3.2xlarge:nodes=8,nic=10Gb/s,oversubscription=2"), 2 * 1.25);
}

TEST(Bisection, OfARingIsTwoWiresAndOfATorusTwoForEachRow) {
  EXPECT_DOUBLE_EQ(gigabytes("ring:hosts=10,bandwidth=1GB/s"), 2);
  EXPECT_DOUBLE_EQ(gigabytes("torus:hosts=16,dims=4x4,bandwidth=1GB/s"), 8);
}

// Halves 0-3 and 4-7 of the cube mesh: 0-4 and 1-5 with two NVLinks of 20, 2-6 and 3-7 with one,
// and the socket link of 6.
TEST(Bisection, OfADgx1IsTheNvlinksBetweenHalvesAndTheSocket) {
  EXPECT_DOUBLE_EQ(gigabytes("dgx1-v100"), 2 * 40 + 2 * 20 + 6);
}

TEST(Bisection, MemoryDoesNotForward) {
  EXPECT_DOUBLE_EQ(gigabytes("cpu"), 8.7);  // the one link between the two, not also by way of mem0
}

TEST(Bisection, OfFewerThanTwoDevicesIsZero) { EXPECT_EQ(gigabytes("p3.2xlarge"), 0); }

TEST(Bisection, FailedLinksCountNothing) {
  Diagnostics diagnostics;
  TopologySpec spec = read_topology_argument("single-switch:hosts=4,bandwidth=10GB/s", diagnostics);
  OverrideSpec broken;
  broken.link_ends = {"node0/cpu0", "switch0"};
  broken.failed = true;
  spec.overrides = {broken};
  EXPECT_DOUBLE_EQ(bisection_bandwidth(build_topology(spec, diagnostics)).bytes_per_s, 10e9);
  spec.overrides[0].link_ends[0] = "node*/cpu0";
  EXPECT_EQ(bisection_bandwidth(build_topology(spec, diagnostics)).bytes_per_s, 0);
  EXPECT_FALSE(diagnostics.has_errors());
}

TEST(Bisection, HugeBandwidthsDoNotOverflow) {
  const Topology topology = topology_of_text(R"({
    "templates": {"m": {"parts": [{"name": "gpu", "kind": "gpu", "count": 4}],
      "links": [{"from": "gpu*", "to": "gpu*", "bandwidth": "9e6TB/s", "count": 10000}]}},
    "nodes": {"m": 1}})");
  EXPECT_NEAR(bisection_bandwidth(topology).bytes_per_s / (4 * 9e22), 1, 1e-6);
}

// Every cut between the halves, one by one: the definition.
double smallest_cut(std::size_t vertices,
                    std::size_t devices,
                    const std::vector<std::vector<double>>& capacity) {
  double smallest = 1e300;
  for (std::uint32_t side = 0; side < (1U << vertices); ++side) {  // bit set: with the first half
    bool parts_the_halves = true;
    for (std::size_t d = 0; d < devices; ++d) {
      parts_the_halves = parts_the_halves && ((side >> d & 1U) == (d < devices / 2 ? 1U : 0U));
    }
    if (!parts_the_halves) {
      continue;
    }
    double cut = 0;
    for (std::size_t a = 0; a < vertices; ++a) {
      for (std::size_t b = 0; b < vertices; ++b) {
        cut += (side >> a & 1U) != 0 && (side >> b & 1U) == 0 ? capacity[a][b] : 0;
      }
    }
    smallest = std::min(smallest, cut);
  }
  return smallest;
}

TEST(Bisection, EqualsTheSmallestOfAllCutsOnRandomGraphs) {
  std::mt19937 random(7);
  const auto below = [&](std::uint32_t n) { return static_cast<std::size_t>(random() % n); };
  for (int round = 0; round < 200; ++round) {
    const std::size_t devices = 2 + below(5);
    const std::size_t vertices = devices + below(6);
    std::vector<std::vector<double>> capacity(vertices, std::vector<double>(vertices, 0));
    TopologySpec spec;
    TemplateSpec box;
    box.name = "box";
    PartSpec gpus;
    gpus.name = "gpu";
    gpus.count = static_cast<std::int64_t>(devices);
    PartSpec switches;
    switches.name = "pcie";
    switches.kind = VertexKind::kPcieSwitch;
    switches.count = static_cast<std::int64_t>(vertices - devices);
    box.parts = {gpus, switches};
    const auto name = [&](std::size_t v) {
      return v < devices ? "gpu" + std::to_string(v) : "pcie" + std::to_string(v - devices);
    };
    for (std::size_t i = 0; i < 2 * vertices; ++i) {
      const std::size_t a = below(static_cast<std::uint32_t>(vertices));
      const std::size_t b = below(static_cast<std::uint32_t>(vertices));
      if (a == b) {
        continue;
      }
      LinkSpec link;
      link.from = {name(a)};
      link.to = {name(b)};
      link.bandwidth = {static_cast<double>(1 + below(100))};
      link.duplex = below(2) == 0 ? Duplex::kFull : Duplex::kSimplex;
      capacity[a][b] += link.bandwidth.bytes_per_s;
      capacity[b][a] += link.duplex == Duplex::kFull ? link.bandwidth.bytes_per_s : 0;
      box.links.push_back(link);
    }
    spec.templates = {box};
    NodesSpec nodes;
    nodes.template_name = "box";
    spec.nodes = {nodes};
    Diagnostics diagnostics;
    const Topology topology = build_topology(spec, diagnostics);
    ASSERT_FALSE(diagnostics.has_errors());
    EXPECT_EQ(bisection_bandwidth(topology).bytes_per_s, smallest_cut(vertices, devices, capacity))
        << "round " << round;
  }
}

}  // namespace
}  // namespace twinrun
