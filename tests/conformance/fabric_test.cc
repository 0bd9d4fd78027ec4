#include "core/topology/fabric.h"

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/topology/topologies_for_tests.h"

// Laws of every kind of fabric, because it is registered in fabric_kinds().

namespace twinrun {
namespace {

TopologySpec machines_on(std::string_view kind, std::int64_t machines, std::int64_t nics) {
  TopologySpec spec;
  DeviceSpec nic;
  nic.name = "nic";
  nic.kind = VertexKind::kNic;
  nic.rate = {10e9};
  nic.latency = microseconds(0.25);
  spec.devices = {nic};
  TemplateSpec box;
  box.name = "box";
  PartSpec cpus;
  cpus.name = "cpu";
  cpus.kind = VertexKind::kCpu;
  PartSpec ports;
  ports.name = "nic";
  ports.kind = VertexKind::kNic;
  ports.device = "nic";
  ports.count = nics;
  box.parts = {cpus, ports};
  LinkSpec inside;
  inside.from = {"nic*"};
  inside.to = {"cpu0"};
  inside.bandwidth = {50e9};
  inside.latency = microseconds(0.5);
  box.links = {inside};
  spec.templates = {box};
  NodesSpec nodes;
  nodes.template_name = "box";
  nodes.count = machines;
  spec.nodes = {nodes};
  spec.fabric.emplace();
  spec.fabric->kind = kind;
  // Small leaves, so that few machines already need all levels.
  const FabricKind* row = find_fabric_kind(kind);
  if (std::find(row->keys.begin(), row->keys.end(), "nodes_per_leaf") != row->keys.end()) {
    spec.fabric->nodes_per_leaf = 4;
  }
  return spec;
}

Topology built(const TopologySpec& spec) {
  Diagnostics diagnostics;
  Topology topology = build_topology(spec, diagnostics);
  EXPECT_EQ(complaints(diagnostics), "");
  return topology;
}

// Hop counts over network links by another hand: Boost's own adjacency list and search. Machines do
// not forward unless NICs are wired to NICs.
class HopOracle {
 public:
  explicit HopOracle(const Topology& topology) : topology_(topology) {
    std::set<std::uint32_t> relays;
    for (std::size_t l = topology.fabric_first_link(); l < topology.link_count(); ++l) {
      const LinkId link = id_at<LinkId>(l);
      const auto a = static_cast<std::uint32_t>(topology.from(link));
      const auto b = static_cast<std::uint32_t>(topology.to(link));
      wires_.emplace_back(a, b);
      if (topology.kind(topology.from(link)) != VertexKind::kSwitch &&
          topology.kind(topology.to(link)) != VertexKind::kSwitch) {
        relays.insert(a);
      }
    }
    for (std::size_t v = 0; v < topology.vertex_count(); ++v) {
      relay_.push_back(topology.kind(id_at<VertexId>(v)) == VertexKind::kSwitch ||
                       relays.contains(static_cast<std::uint32_t>(v)));
    }
  }

  // Fewest wires from one NIC to every vertex; -1 where there is no way.
  [[nodiscard]] std::vector<int> hops_from(VertexId source) const {
    using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;
    const std::size_t start = index_of(source);
    Graph graph(topology_.vertex_count());
    for (const auto& [a, b] : wires_) {
      if (relay_[a] || a == start) {
        boost::add_edge(a, b, graph);
      }
    }
    std::vector<int> distance(topology_.vertex_count(), -1);
    distance[start] = 0;
    boost::breadth_first_search(graph, start,
                                boost::visitor(boost::make_bfs_visitor(boost::record_distances(
                                    distance.data(), boost::on_tree_edge()))));
    return distance;
  }

 private:
  const Topology& topology_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> wires_;
  std::vector<bool> relay_;
};

// A connected walk from end to end that uses no link twice; its figures are those of its links.
void expect_sound(const Topology& topology, VertexId from, VertexId to, const Route& route) {
  VertexId here = from;
  std::set<LinkId> used;
  Time latency{};
  double slowest = 1e300;
  for (const LinkId link : route.links) {
    ASSERT_EQ(topology.from(link), here) << topology.link_name(link);
    here = topology.to(link);
    EXPECT_TRUE(used.insert(link).second) << topology.link_name(link) << " twice";
    latency = latency + topology.latency(link);
    slowest = std::min(slowest, topology.bandwidth(link).bytes_per_s);
  }
  EXPECT_EQ(here, to);
  EXPECT_EQ(route.latency, latency);
  EXPECT_EQ(route.bandwidth.bytes_per_s, slowest);
  EXPECT_EQ(topology.bandwidth(route.bottleneck).bytes_per_s, slowest);
  EXPECT_EQ(route.path, PathClass::kNet);
}

int network_hops(const Topology& topology, const Route& route) {
  int hops = 0;
  for (const LinkId link : route.links) {
    hops += topology.link_kind(link) == LinkKind::kNetwork ? 1 : 0;
  }
  return hops;
}

using Case = std::tuple<std::string, int>;

class EveryFabric : public testing::TestWithParam<Case> {
 protected:
  [[nodiscard]] std::string kind() const { return std::get<0>(GetParam()); }
  [[nodiscard]] int nics() const { return std::get<1>(GetParam()); }
};

TEST_P(EveryFabric, RoutesAllMachinesByAShortestWay) {
  for (std::int64_t machines = 1; machines <= 33; ++machines) {
    const Topology topology = built(machines_on(kind(), machines, nics()));
    const HopOracle oracle(topology);
    Router router(topology);
    Router again(topology);
    for (std::size_t a = 0; a < topology.node_count(); ++a) {
      // CPU 0 is as near to every NIC, so its turn falls on the first.
      const std::vector<int> hops = oracle.hops_from(topology.vertex_in(id_at<NodeId>(a), 1));
      for (std::size_t b = 0; b < topology.node_count(); ++b) {
        if (a == b) {
          continue;
        }
        const VertexId from = topology.vertex_in(id_at<NodeId>(a), 0);
        const VertexId to = topology.vertex_in(id_at<NodeId>(b), 0);
        const auto route = router.route(from, to);
        ASSERT_TRUE(route) << topology.name(from) << " " << topology.name(to);
        expect_sound(topology, from, to, *route);
        EXPECT_EQ(network_hops(topology, *route), hops[index_of(to) + 1]) << way(topology, *route);
        EXPECT_EQ(again.route(from, to)->links, route->links);
      }
    }
  }
}

TEST_P(EveryFabric, KeepsEveryFlowOnAShortestWay) {
  const Topology topology = built(machines_on(kind(), 24, nics()));
  Router router(topology);
  const VertexId from = topology.vertex_in(id_at<NodeId>(0), 0);
  for (std::size_t b = 1; b < 24; ++b) {
    const VertexId to = topology.vertex_in(id_at<NodeId>(b), 0);
    const int hops = network_hops(topology, *router.route(from, to));
    for (std::uint64_t flow = 1; flow < 20; ++flow) {
      const auto route = router.route(from, to, flow);
      ASSERT_TRUE(route);
      expect_sound(topology, from, to, *route);
      EXPECT_EQ(network_hops(topology, *route), hops);
    }
  }
}

TEST_P(EveryFabric, RoutesAroundAnyOneFailedUplinkOrSaysThereIsNoWay) {
  TopologySpec spec = machines_on(kind(), 9, nics());
  const Topology whole = built(spec);
  for (std::size_t l = whole.fabric_first_link(); l < whole.link_count(); l += 2) {
    const LinkId wire = id_at<LinkId>(l);
    OverrideSpec broken;
    broken.link_ends = {whole.name(whole.from(wire)), whole.name(whole.to(wire))};
    broken.failed = true;
    spec.overrides = {broken};
    const Topology topology = built(spec);
    Router router(topology);
    for (std::size_t b = 1; b < topology.node_count(); ++b) {
      const auto route = router.route(topology.vertex_in(id_at<NodeId>(0), 0),
                                      topology.vertex_in(id_at<NodeId>(b), 0));
      for (const LinkId link : route ? route->links : std::vector<LinkId>{}) {
        EXPECT_FALSE(topology.failed(link)) << topology.link_name(link);
      }
      EXPECT_TRUE(route || nics() == 1) << "another NIC leads on";
    }
  }
}

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  for (const FabricKind& kind : fabric_kinds()) {
    names.emplace_back(kind.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Registered,
                         EveryFabric,
                         testing::Combine(testing::ValuesIn(kind_names()),
                                          testing::Values(1, 2, 8)),
                         [](const auto& param) {
                           std::string name = std::get<0>(param.param);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name + "_" + std::to_string(std::get<1>(param.param)) + "_nics";
                         });

// Switches by word, and wires (both directions are one).
std::map<std::string, int> counts(const Topology& topology) {
  std::map<std::string, int> found;
  for (std::size_t v = topology.fabric_first_vertex(); v < topology.vertex_count(); ++v) {
    std::string name = topology.name(id_at<VertexId>(v));
    ++found[name.substr(0, name.find_last_not_of("0123456789") + 1)];
  }
  found["wires"] = static_cast<int>(topology.link_count() - topology.fabric_first_link()) / 2;
  return found;
}

using Counts = std::map<std::string, int>;

TEST(FatTree, ThreeLevelsOfSixteenPortsHoldAThousandHosts) {
  EXPECT_EQ(counts(topology_of("fat-tree:hosts=1024,ports=16,levels=3,bandwidth=12.5GB/s")),
            (Counts{{"leaf", 128}, {"agg", 128}, {"core", 64}, {"wires", 1024 + 1024 + 1024}}));
}

TEST(FatTree, TwoLevelsAreLeavesAndSpines) {
  EXPECT_EQ(counts(topology_of("fat-tree:hosts=32,ports=8,levels=2,bandwidth=12.5GB/s")),
            (Counts{{"leaf", 8}, {"spine", 4}, {"wires", 32 + 8 * 4}}));
}

TEST(FatTree, OneLevelIsOneSwitch) {
  EXPECT_EQ(counts(topology_of("fat-tree:hosts=16,ports=16,levels=1,bandwidth=12.5GB/s")),
            (Counts{{"leaf", 1}, {"wires", 16}}));
}

TEST(FatTree, ChoosesTheSmallestSwitchThatWillDo) {
  // k = 4 holds 16 hosts, k = 6 holds 54: 17 hosts need 6 leaves of 3 in 2 pods, 9 cores.
  EXPECT_EQ(counts(topology_of("fat-tree:hosts=17,bandwidth=12.5GB/s")),
            (Counts{{"leaf", 6}, {"agg", 6}, {"core", 9}, {"wires", 17 + 18 + 18}}));
}

double uplinks_of(const Topology& topology, const std::string& leaf) {
  double sum = 0;
  for (const LinkId link : topology.links_from(at(topology, leaf))) {
    sum += topology.kind(topology.to(link)) == VertexKind::kSwitch
               ? topology.bandwidth(link).bytes_per_s
               : 0;
  }
  return sum;
}

TEST(Oversubscription, DividesTheDownlinksWhateverTheRounding) {
  for (const double factor : {0.5, 1.0, 1.5, 2.0, 3.0, 7.0}) {
    const std::string tail = "bandwidth=10GB/s,oversubscription=" + std::to_string(factor);
    EXPECT_NEAR(uplinks_of(topology_of("leaf-spine:hosts=32,nodes_per_leaf=8," + tail), "leaf0"),
                80e9 / factor, 1);
    EXPECT_NEAR(uplinks_of(topology_of("fat-tree:hosts=32,ports=8,levels=2," + tail), "leaf0"),
                40e9 / factor, 1);
    EXPECT_NEAR(uplinks_of(topology_of("fat-tree:hosts=64,ports=8,levels=3," + tail), "leaf0"),
                40e9 / factor, 1);
  }
}

TEST(Oversubscription, IsSharedOutOverTheSpinesAskedFor) {
  const Topology topology = topology_of(
      "leaf-spine:hosts=32,nodes_per_leaf=8,spines=5,oversubscription=2,bandwidth=10GB/s");
  EXPECT_EQ(counts(topology), (Counts{{"leaf", 4}, {"spine", 5}, {"wires", 32 + 20}}));
  EXPECT_NEAR(uplinks_of(topology, "leaf3"), 40e9, 1);
}

TEST(Oversubscription, OnOneLeafIsWarnedAbout) {
  Diagnostics diagnostics;
  build_topology(
      read_topology_argument(
          "leaf-spine:hosts=4,nodes_per_leaf=4,bandwidth=1GB/s,oversubscription=2", diagnostics),
      diagnostics);
  EXPECT_EQ(complaints(diagnostics),
            "W0302 : the oversubscription has no effect: no switch has an uplink\n");
}

TEST(RailOptimized, HasALeafForEveryRailAndGroupOfMachines) {
  for (const int machines : {1, 32, 33, 64, 65}) {
    const Topology topology =
        topology_of("dgx-h100:nodes=" + std::to_string(machines) + ",fabric=rail-optimized");
    int leaves = 0;
    for (const auto& [word, count] : counts(topology)) {
      leaves += word.find("leaf") != std::string::npos ? count : 0;
    }
    EXPECT_EQ(leaves, machines == 1 ? 0 : 8 * ((machines + 31) / 32)) << machines;
  }
}

TEST(Torus, EveryMachineHasTwoNeighboursInEachDimension) {
  const Topology topology = topology_of("torus:hosts=60,dims=5x4x3,bandwidth=1GB/s");
  EXPECT_EQ(counts(topology), (Counts{{"wires", 180}}));
  for (std::size_t n = 0; n < 60; ++n) {
    EXPECT_EQ(topology.links_from(topology.vertex_in(id_at<NodeId>(n), 0)).size(), 6U);
  }
  // Opposite corners of 5x4x3 are 2 + 2 + 1 steps apart.
  Router router(topology);
  EXPECT_EQ(router.route(at(topology, "node0/cpu0"), at(topology, "node52/cpu0"))->links.size(),
            5U);
}

TEST(Torus, IsAsSquareAsItCanBeUnlessTold) {
  EXPECT_EQ(counts(topology_of("torus:hosts=12,bandwidth=1GB/s")), (Counts{{"wires", 24}}));
  EXPECT_EQ(counts(topology_of("torus:hosts=7,bandwidth=1GB/s")), (Counts{{"wires", 7}}));
}

TEST(Ring, TheSlowerNicSetsThePaceAndBothDelay) {
  const Topology topology = topology_of_text(R"({
    "devices": {"slow": {"kind": "nic", "rate": "1GB/s", "latency": "2us"},
                "fast": {"kind": "nic", "rate": "9GB/s", "latency": "3us"}},
    "templates": {"a": {"parts": [{"name": "nic", "device": "slow"}]},
                  "b": {"parts": [{"name": "nic", "device": "fast"}]}},
    "nodes": [{"template": "a"}, {"template": "b"}, {"template": "b"}],
    "fabric": {"kind": "ring", "latency": "1us"}})");
  Router router(topology);
  const auto figures = [&](const char* a, const char* b) {
    const auto route = router.route(at(topology, a), at(topology, b));
    return std::pair(route->bandwidth.bytes_per_s, to_microseconds(route->latency));
  };
  EXPECT_EQ(figures("node0/nic0", "node1/nic0"), std::pair(1e9, 6.0));
  EXPECT_EQ(figures("node1/nic0", "node2/nic0"), std::pair(9e9, 7.0));
  EXPECT_EQ(figures("node2/nic0", "node0/nic0"), std::pair(1e9, 6.0));
}

TEST(Ring, LongerThanSixteenBitsStillFindsTheShortWay) {
  const Topology topology = topology_of("ring:hosts=140000,bandwidth=1GB/s");
  Router router(topology);
  EXPECT_EQ(router.route(at(topology, "node0/cpu0"), at(topology, "node69999/cpu0"))->links.size(),
            69'999U);
}

TEST(Ecmp, SpreadsOverAllSpinesEvenly) {
  const Topology topology =
      topology_of("leaf-spine:hosts=64,nodes_per_leaf=8,spines=8,bandwidth=1GB/s");
  Router router(topology);
  std::map<std::string, int> used;
  for (std::uint64_t flow = 0; flow < 4000; ++flow) {
    const auto route = router.route(at(topology, "node0/cpu0"), at(topology, "node63/cpu0"), flow);
    ++used[topology.name(topology.to(route->links[1]))];
  }
  ASSERT_EQ(used.size(), 8U);
  for (const auto& [spine, times] : used) {
    EXPECT_NEAR(times, 500, 100) << spine;  // 4.8 standard deviations
  }
}

}  // namespace
}  // namespace twinrun
