#include <string>

#include <gtest/gtest.h>

#include "core/topology/apply_overrides.h"
#include "tests/core/topology/topologies_for_tests.h"

namespace twinrun {
namespace {

struct Changed {
  Topology topology;
  std::string said;
};

Changed changed(const std::string& argument, std::vector<OverrideSpec> changes) {
  Diagnostics diagnostics;
  TopologySpec spec = read_topology_argument(argument, diagnostics);
  spec.overrides = std::move(changes);
  Topology topology = build_topology(spec, diagnostics);
  return {std::move(topology), complaints(diagnostics)};
}

OverrideSpec slow(std::vector<std::string> vertices, double scale) {
  OverrideSpec change;
  change.vertices = std::move(vertices);
  change.compute_scale = scale;
  return change;
}

OverrideSpec link(std::string a, std::string b, double scale) {
  OverrideSpec change;
  change.link_ends = {std::move(a), std::move(b)};
  change.bandwidth_scale = scale;
  return change;
}

TEST(Overrides, ASlowGpuIsSlowAlone) {
  const auto [topology, said] = changed("dgx-h100:nodes=3", {slow({"node1/gpu5"}, 0.8)});
  EXPECT_EQ(said, "");
  for (std::size_t v = 0; v < topology.vertex_count(); ++v) {
    const VertexId vertex = id_at<VertexId>(v);
    EXPECT_EQ(topology.compute_scale(vertex), topology.name(vertex) == "node1/gpu5" ? 0.8 : 1);
  }
}

TEST(Overrides, EntriesAccumulateButPatternsOfOneEntryDoNot) {
  const auto [topology, said] =
      changed("dgx-h100:nodes=2",
              {slow({"node1/gpu5", "node1/gpu*", "node*/gpu5"}, 0.5), slow({"node1/gpu5"}, 0.5)});
  EXPECT_EQ(said, "");
  EXPECT_EQ(topology.compute_scale(at(topology, "node1/gpu5")), 0.25);
  EXPECT_EQ(topology.compute_scale(at(topology, "node1/gpu4")), 0.5);
  EXPECT_EQ(topology.compute_scale(at(topology, "node0/gpu5")), 0.5);
  EXPECT_EQ(topology.compute_scale(at(topology, "node0/gpu4")), 1);
}

TEST(Overrides, ALinkIsScaledOnceHoweverThePatternsMeet) {
  const auto [topology, said] = changed("dgx1-v100", {link("gpu*", "gpu*", 0.5)});
  EXPECT_EQ(said, "");
  for (std::size_t l = 0; l < topology.link_count(); ++l) {
    const LinkId one = id_at<LinkId>(l);
    if (topology.link_kind(one) == LinkKind::kNvlink) {
      EXPECT_EQ(topology.bandwidth(one).bytes_per_s, topology.bonded(one) * 10e9);
    }
  }
}

TEST(Overrides, WiresOfTheFabricChangeInBothDirections) {
  const auto [topology, said] =
      changed("single-switch:hosts=3,bandwidth=8GB/s", {link("switch0", "node[0-1]/cpu0", 0.5)});
  EXPECT_EQ(said, "");
  for (std::size_t l = 0; l < topology.link_count(); ++l) {
    const LinkId one = id_at<LinkId>(l);
    EXPECT_EQ(topology.bandwidth(one).bytes_per_s,
              topology.link_name(one).find("node2") == std::string::npos ? 4e9 : 8e9);
  }
}

TEST(Overrides, OneMachineNeedsNoMachineName) {
  for (const char* name : {"gpu1", "node0/gpu1", "gpu[1]"}) {
    const auto [topology, said] = changed("dgx-a100", {slow({name}, 0.5)});
    EXPECT_EQ(said, "");
    EXPECT_EQ(topology.compute_scale(at(topology, "gpu1")), 0.5) << name;
  }
}

TEST(Overrides, EveryNameThatDoesNotExistIsReported) {
  OverrideSpec peers;
  peers.p2p_pair = {"node0/gpu0", "node1/gpu0"};
  const std::string said =
      changed("dgx-a100:nodes=2",
              {slow({"node2/gpu0"}, 0.5), slow({"gpu0"}, 0.5), slow({"node*/gpu[8-9]"}, 0.5),
               link("node0/gpu0", "node0/gpu1", 0.5), link("node0/gpu0", "leaf0", 0.5), peers})
          .said;
  EXPECT_EQ(said,
            "E0304 : the override names \"node2/gpu0\", which does not exist\n"
            "E0304 : the override names \"gpu0\", which does not exist\n"
            "E0304 : the override names \"node*/gpu[8-9]\", which does not exist\n"
            "E0304 : the override names the pair node0/gpu0 and node1/gpu0 of one machine, which "
            "does not exist\n"
            "E0304 : the override names a link between node0/gpu0 and node0/gpu1, which does not "
            "exist\n"
            "E0304 : nothing in this topology is named \"leaf0\"\n");
}

TEST(Overrides, ThousandsOfMachinesChangedAlikeShareOneShapeAndTakeNoTime) {
  const WorkTimer timer;
  const auto [topology, said] = changed(
      "dgx-h100:nodes=2048", {slow({"node*/gpu0"}, 0.9), link("node*/gpu1", "node*/pcie1", 0.5),
                              slow({"node[0-1023]/gpu7"}, 0.5)});
  EXPECT_LT(timer.seconds(), 1);
  EXPECT_EQ(said, "");
  EXPECT_EQ(topology.shapes().size(), 2U);
  EXPECT_EQ(topology.compute_scale(at(topology, "node2047/gpu0")), 0.9);
  EXPECT_EQ(topology.compute_scale(at(topology, "node1023/gpu7")), 0.5);
  EXPECT_EQ(topology.compute_scale(at(topology, "node1024/gpu7")), 1);
}

TEST(Overrides, ThousandsOfEntriesTakeNoTime) {
  std::vector<OverrideSpec> changes;
  for (int i = 0; i < 2000; ++i) {
    changes.push_back(slow({"node" + std::to_string(i) + "/gpu3"}, 0.5 + i / 1e4));
    changes.push_back(
        link("node" + std::to_string(i) + "/nic3", "rail3-leaf" + std::to_string(i / 32), 0.5));
  }
  const WorkTimer timer;
  const auto [topology, said] = changed("dgx-h100:nodes=2048", std::move(changes));
  EXPECT_LT(timer.seconds(), 1.5);
  EXPECT_EQ(said, "");
  EXPECT_EQ(topology.compute_scale(at(topology, "node1999/gpu3")), 0.5 + 1999 / 1e4);
}

TEST(ExplicitLinks, TwentyThousandEntriesTakeNoTime) {
  TopologySpec spec;
  Diagnostics diagnostics;
  spec = read_topology_argument("single-switch:hosts=20000,bandwidth=1GB/s", diagnostics);
  spec.fabric.reset();
  PartSpec switches;
  switches.name = "tor";
  switches.count = 200;
  spec.switches = {switches};
  for (int i = 0; i < 20'000; ++i) {
    LinkSpec one;
    one.from = {"node" + std::to_string(i) + "/cpu0"};
    one.to = {"tor" + std::to_string(i / 100)};
    one.kind = LinkKind::kNetwork;
    one.bandwidth = {1e9};
    spec.links.push_back(one);
  }
  const WorkTimer timer;
  const Topology topology = build_topology(spec, diagnostics);
  EXPECT_LT(timer.seconds(), 1);
  EXPECT_EQ(complaints(diagnostics), "");
  EXPECT_EQ(topology.link_count(), 40'000U);
  EXPECT_EQ(way(topology, "node0/cpu0", "node99/cpu0"), "node0/cpu0 tor0 node99/cpu0");
}

}  // namespace
}  // namespace twinrun
