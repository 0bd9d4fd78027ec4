#include "core/topology/router.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/core/topology/topologies_for_tests.h"

// Ways by hand from the wiring of topologies/*.json.

namespace twinrun {
namespace {

// "NVL 20 0.6 gpu0 gpu1", with " host" after the class when staged: class, GB/s, us, vertices.
std::string route_of(const Topology& topology, const std::string& from, const std::string& to) {
  Router router(topology);
  const auto route = router.route(at(topology, from), at(topology, to));
  if (!route) {
    return "no way";
  }
  char figures[64];
  std::snprintf(figures, sizeof figures, " %g %g ", to_gigabytes_per_second(route->bandwidth),
                to_microseconds(route->latency));
  return std::string(word(route->path)) + (route->through_host ? " host" : "") + figures +
         way(topology, *route);
}

std::string class_of(const Topology& topology, const std::string& from, const std::string& to) {
  const std::string all = route_of(topology, from, to);
  return all.substr(0, all.find_first_of("0123456789") - 1);
}

Topology changed(const std::string& argument, const OverrideSpec& change) {
  Diagnostics diagnostics;
  TopologySpec spec = read_topology_argument(argument, diagnostics);
  spec.overrides.push_back(change);
  Topology topology = build_topology(spec, diagnostics);
  EXPECT_EQ(complaints(diagnostics), "");
  return topology;
}

TEST(RouterOnDgx1V100, NvlinkPairsTalkDirectlyTheOthersThroughHostMemory) {
  const Topology topology = topology_of("dgx1-v100");
  EXPECT_EQ(route_of(topology, "gpu0", "gpu1"), "NVL 20 0.6 gpu0 gpu1");
  EXPECT_EQ(route_of(topology, "gpu0", "gpu2"), "NVL 40 0.6 gpu0 gpu2");
  EXPECT_EQ(route_of(topology, "gpu0", "gpu4"), "NVL 40 0.6 gpu0 gpu4");
  EXPECT_EQ(route_of(topology, "gpu0", "gpu5"),
            "SYS host 6 2.3 gpu0 pcie0 cpu0 mem0 cpu0 cpu1 pcie2 gpu5");
  const std::string pairs = "01 02 03 04 12 13 15 23 26 37 45 46 47 56 57 67";
  for (char a = '0'; a < '8'; ++a) {
    for (char b = '0'; b < '8'; ++b) {
      const std::string pair{std::min(a, b), std::max(a, b)};
      if (a != b) {
        EXPECT_EQ(class_of(topology, std::string("gpu") + a, std::string("gpu") + b),
                  pairs.find(pair) != std::string::npos ? "NVL" : "SYS host")
            << pair;
      }
    }
  }
}

TEST(RouterOnDgx1V100, GpusReachTheNicOfTheirSwitchDirectlyOthersThroughHost) {
  const Topology topology = topology_of("dgx1-v100");
  EXPECT_EQ(route_of(topology, "gpu1", "nic0"), "PIX 12 0.8 gpu1 pcie0 nic0");
  EXPECT_EQ(route_of(topology, "gpu0", "nic1"),
            "PHB host 12 1.8 gpu0 pcie0 cpu0 mem0 cpu0 pcie1 nic1");
  EXPECT_EQ(class_of(topology, "gpu0", "nic2"), "SYS host");
  EXPECT_EQ(route_of(topology, "gpu0", "gpu0"), "LOC 0 0 ");
}

TEST(RouterOnNvswitch, EveryPairOfGpusIsOneSwitchApart) {
  for (const char* machine : {"dgx-a100", "dgx-h100", "p4d", "p5", "hgx-b200"}) {
    const Topology topology = topology_of(machine);
    for (int a = 0; a < 8; ++a) {
      for (int b = 0; b < 8; ++b) {
        const std::string from = "gpu" + std::to_string(a);
        const std::string to = "gpu" + std::to_string(b);
        EXPECT_EQ(class_of(topology, from, to), a == b ? "LOC" : "NVL") << machine << from << to;
      }
    }
  }
  EXPECT_EQ(route_of(topology_of("dgx-a100"), "gpu0", "gpu7"), "NVL 240 0.6 gpu0 nvswitch0 gpu7");
}

TEST(RouterOnDgxA100, BridgesMakeTheNicPxb) {
  const Topology topology = topology_of("dgx-a100");
  EXPECT_EQ(route_of(topology, "gpu0", "nic0"), "PXB 24 0.8 gpu0 pcie4 pcie0 nic0");
  EXPECT_EQ(class_of(topology, "gpu0", "nic1"), "PXB");
  EXPECT_EQ(class_of(topology, "gpu0", "nic2"), "PHB host");
  EXPECT_EQ(class_of(topology, "gpu0", "nic7"), "SYS host");
}

TEST(RouterOnPcie, The2080TiNeverUsesPeerAccessAlthoughNear) {
  const Topology topology = topology_of("pcie-2x2080ti");
  EXPECT_EQ(route_of(topology, "gpu0", "gpu1"),
            "PHB host 12.2 1.8 gpu0 pcie0 cpu0 mem0 cpu0 pcie0 gpu1");
  Router router(topology);
  EXPECT_EQ(router.wires(at(topology, "gpu0"), at(topology, "gpu1"))->path, PathClass::kPix);
}

TEST(RouterOnPcie, OneSwitchIsPixTheOtherSocketIsSys) {
  const Topology topology = topology_of("pcie-8gpu");
  EXPECT_EQ(route_of(topology, "gpu0", "gpu3"), "PIX 12 0.8 gpu0 pcie0 gpu3");
  EXPECT_EQ(route_of(topology, "gpu3", "gpu4"),
            "SYS host 6 2.3 gpu3 pcie0 cpu0 mem0 cpu0 cpu1 pcie1 gpu4");
  EXPECT_EQ(route_of(topology_of("pcie-8gpu:p2p=SYS"), "gpu3", "gpu4"),
            "SYS 6 2.1 gpu3 pcie0 cpu0 cpu1 pcie1 gpu4");
  EXPECT_EQ(class_of(topology_of("pcie-8gpu:p2p=none"), "gpu0", "gpu3"), "PHB host");
}

TEST(RouterOnPcie, SeveralSwitchesArePxb) {
  const Topology topology = topology_of("k80-cloud");
  EXPECT_EQ(route_of(topology, "gpu0", "gpu1"), "PIX 12 0.8 gpu0 pcie0 gpu1");
  EXPECT_EQ(route_of(topology, "gpu1", "gpu2"), "PXB 12 1.6 gpu1 pcie0 pcie4 pcie1 gpu2");
}

TEST(PeerAccess, IsDeniedAndGrantedPairByPair) {
  OverrideSpec change;
  change.p2p_pair = {"gpu0", "gpu1"};
  change.p2p_allowed = false;
  const Topology denied = changed("pcie-8gpu", change);
  EXPECT_EQ(class_of(denied, "gpu0", "gpu1"), "PHB host");
  EXPECT_EQ(class_of(denied, "gpu1", "gpu0"), "PHB host");
  EXPECT_EQ(class_of(denied, "gpu0", "gpu2"), "PIX");
  change.p2p_pair = {"gpu0", "gpu[4-5]"};
  change.p2p_allowed = true;
  const Topology granted = changed("pcie-8gpu", change);
  EXPECT_EQ(class_of(granted, "gpu5", "gpu0"), "SYS");
  EXPECT_EQ(class_of(granted, "gpu6", "gpu0"), "SYS host");
}

TEST(GpuDirect, WithoutItBothEndsStageInHostMemory) {
  EXPECT_EQ(route_of(topology_of("d2l-cluster"), "node0/gpu0", "node1/gpu3"),
            "NET host 1.25 28.8 node0/gpu0 node0/pcie0 node0/cpu0 node0/mem0 node0/cpu0 node0/nic0 "
            "switch0 node1/nic0 node1/cpu0 node1/mem0 node1/cpu0 node1/pcie1 node1/gpu3");
}

TEST(NicChoice, GpuIOfADgxH100UsesNicI) {
  const Topology topology = topology_of("dgx-h100:nodes=2");
  for (int i = 0; i < 8; ++i) {
    const std::string n = std::to_string(i);
    EXPECT_EQ(way(topology, "node0/gpu" + n, "node1/gpu" + n),
              "node0/gpu" + n + " node0/pcie" + n + " node0/nic" + n + " rail" + n +
                  "-leaf0 node1/nic" + n + " node1/pcie" + n + " node1/gpu" + n);
  }
}

TEST(NicChoice, TwoGpusOfAP4dShareANic) {
  const Topology topology = topology_of("p4d:nodes=2");
  for (int i = 0; i < 8; ++i) {
    const std::string n = std::to_string(i);
    const std::string p = std::to_string(i / 2);
    EXPECT_EQ(way(topology, "node0/gpu" + n, "node1/gpu" + n),
              "node0/gpu" + n + " node0/pcie" + p + " node0/nic" + p + " rail" + p +
                  "-leaf0 node1/nic" + p + " node1/pcie" + p + " node1/gpu" + n);
  }
}

TEST(NicChoice, RailsApartAreReachedByTheNicOfTheRightRail) {
  EXPECT_EQ(way(topology_of("dgx-h100:nodes=2,spines=0"), "node0/gpu0", "node1/gpu3"),
            "node0/gpu0 node0/pcie0 node0/cpu0 node0/mem0 node0/cpu0 node0/pcie3 node0/nic3 "
            "rail3-leaf0 node1/nic3 node1/pcie3 node1/gpu3");
  EXPECT_EQ(way(topology_of("dgx-h100:nodes=2,spines=1"), "node0/gpu0", "node1/gpu3"),
            "node0/gpu0 node0/pcie0 node0/nic0 rail0-leaf0 spine0 rail3-leaf0 node1/nic3 "
            "node1/pcie3 node1/gpu3");
}

TEST(Router, AFailedLinkIsAvoided) {
  OverrideSpec change;
  change.link_ends = {"gpu0", "gpu1"};
  change.failed = true;
  const Topology local = changed("dgx1-v100", change);
  EXPECT_EQ(class_of(local, "gpu0", "gpu1"), "PIX");  // PCIe is the next best
  change.link_ends = {"node0/nic3", "rail3-leaf0"};
  EXPECT_EQ(way(changed("dgx-h100:nodes=2,spines=1", change), "node0/gpu3", "node1/gpu3"),
            "node0/gpu3 node0/pcie3 node0/cpu0 node0/mem0 node0/cpu0 node0/pcie0 node0/nic0 "
            "rail0-leaf0 spine0 rail3-leaf0 node1/nic3 node1/pcie3 node1/gpu3");
}

TEST(Router, ADegradedLinkIsTheBottleneck) {
  OverrideSpec change;
  change.link_ends = {"node1/gpu5", "node1/pcie5"};
  change.bandwidth_scale = 0.25;
  const Topology topology = changed("dgx-h100:nodes=3", change);
  Router router(topology);
  const auto slow = router.route(at(topology, "node0/gpu5"), at(topology, "node1/gpu5"));
  EXPECT_EQ(slow->bandwidth.bytes_per_s, 12e9);
  EXPECT_EQ(topology.link_name(slow->bottleneck), "node1/pcie5 -> node1/gpu5");
  EXPECT_EQ(
      router.route(at(topology, "node0/gpu5"), at(topology, "node2/gpu5"))->bandwidth.bytes_per_s,
      48e9);
}

TEST(Router, AHalfDuplexBusCrossedTwiceCountsHalf) {
  const Topology topology = topology_of_text(R"({
    "templates": {"m": {"p2p": "LOC",
      "parts": [{"name": "gpu", "kind": "gpu", "count": 2}, {"name": "cpu", "kind": "cpu"},
                {"name": "mem", "kind": "memory"}],
      "links": [{"from": "gpu*", "to": "cpu0", "bandwidth": 8},
                {"from": "mem0", "to": "cpu0", "kind": "bus", "duplex": "half", "bandwidth": 10}]}},
    "nodes": {"m": 1}})");
  EXPECT_EQ(route_of(topology, "gpu0", "gpu1"), "PHB host 5 0 gpu0 cpu0 mem0 cpu0 gpu1");
}

TEST(Router, NothingThatIsWiredElsewhereIsForgotten) {
  // GPUs of two machines on a switch of their own, beside NICs without wires.
  const Topology topology = topology_of_text(R"({
    "templates": {"m": {
      "parts": [{"name": "gpu", "kind": "gpu"}, {"name": "nic", "kind": "nic"},
                {"name": "cpu", "kind": "cpu"}],
      "links": [{"from": ["gpu0", "nic0"], "to": "cpu0", "bandwidth": 8}]}},
    "nodes": {"m": 2}, "switches": [{"name": "sw"}],
    "links": [{"from": "node*/gpu0", "to": "sw0", "bandwidth": 100}]})");
  EXPECT_EQ(way(topology, "node0/gpu0", "node1/gpu0"), "node0/gpu0 sw0 node1/gpu0");
  EXPECT_EQ(way(topology, "node0/cpu0", "sw0"), "node0/cpu0 node0/gpu0 sw0");
}

TEST(Router, SaysWhenThereIsNoWay) {
  const Topology topology = topology_of("single-switch:hosts=2,bandwidth=1GB/s");
  Router router(topology);
  EXPECT_FALSE(router.wires(at(topology, "switch0"), at(topology, "node0/cpu0")));
  EXPECT_FALSE(router.wires(at(topology, "node0/cpu0"), at(topology, "node1/cpu0")));
  OverrideSpec change;
  change.link_ends = {"node1/cpu0", "switch0"};
  change.failed = true;
  EXPECT_EQ(
      way(changed("single-switch:hosts=2,bandwidth=1GB/s", change), "node0/cpu0", "node1/cpu0"),
      "no way");
}

TEST(Router, SwitchesAreEndsToo) {
  const Topology topology = topology_of("dgx-h100:nodes=2,spines=1");
  EXPECT_EQ(way(topology, "spine0", "node1/gpu0"),
            "spine0 rail0-leaf0 node1/nic0 node1/pcie0 node1/gpu0");
  EXPECT_EQ(way(topology, "node1/nic7", "spine0"), "node1/nic7 rail7-leaf0 spine0");
}

TEST(Router, NoMachineLeadsToASwitchBehindIt) {
  const Topology topology = topology_of_text(R"({
    "templates": {"m": {"parts": [{"name": "nic", "kind": "nic"}]}},
    "nodes": {"m": 2}, "switches": [{"name": "sw", "count": 2}],
    "links": [{"from": "node*/nic0", "to": "sw0", "bandwidth": 10},
              {"from": "node0/nic0", "to": "sw1", "bandwidth": 10}]})");
  EXPECT_EQ(way(topology, "node0/nic0", "sw1"), "node0/nic0 sw1");
  EXPECT_EQ(way(topology, "node1/nic0", "sw1"), "no way");
}

TEST(Router, LinksAloneAreThoseOfTheRoute) {
  const Topology topology = topology_of("d2l-cluster");
  Router router(topology);
  std::vector<LinkId> links;
  for (std::size_t a = 0; a < topology.vertex_count(); ++a) {
    for (std::size_t b = 0; b < topology.vertex_count(); ++b) {
      const auto route = router.route(id_at<VertexId>(a), id_at<VertexId>(b), a);
      ASSERT_EQ(router.links(id_at<VertexId>(a), id_at<VertexId>(b), a, links), route.has_value());
      if (route) {
        EXPECT_EQ(links, route->links) << a << " " << b;
      }
    }
  }
}

}  // namespace
}  // namespace twinrun
