#include "core/io/topology_argument.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/topology/topologies_for_tests.h"

namespace twinrun {
namespace {

using testing::HasSubstr;

std::string complaints_about_argument(const std::string& argument) {
  Diagnostics diagnostics;
  const TopologySpec spec = read_topology_argument(argument, diagnostics);
  if (!diagnostics.has_errors()) {
    build_topology(spec, diagnostics);
  }
  std::string out;
  for (const Diagnostic& one : diagnostics.all()) {
    EXPECT_EQ(one.place.file, "") << "an expression is in no file";
    out += one.code + " " + one.message + " | " + one.help + "\n";
  }
  return out;
}

TEST(TopologyArgument, HostsOnASwitch) {
  const Topology topology = topology_of("single-switch:hosts=1024,bandwidth=12.5GB/s,latency=1us");
  EXPECT_EQ(topology.node_count(), 1024U);
  EXPECT_EQ(way(topology, "node0/cpu0", "node1023/cpu0"), "node0/cpu0 switch0 node1023/cpu0");
  Router router(topology);
  const auto route = router.route(at(topology, "node0/cpu0"), at(topology, "node1023/cpu0"));
  EXPECT_EQ(route->latency, microseconds(2));
  EXPECT_EQ(route->bandwidth.bytes_per_s, 12.5e9);
}

TEST(TopologyArgument, CpuTakesDevices) {
  for (const std::size_t devices : {1U, 2U, 4U, 9U}) {
    const Topology topology = topology_of("cpu:devices=" + std::to_string(devices));
    EXPECT_EQ(topology.compute_devices().size(), devices);
    EXPECT_EQ(topology.name(topology.compute_devices().back()),
              "cpu" + std::to_string(devices - 1));
  }
}

TEST(TopologyArgument, KeysMayComeInAnyOrder) {
  const Topology a = topology_of("dgx-a100:spines=3,nodes=40,fabric=leaf-spine,nodes_per_leaf=8");
  const Topology b = topology_of("dgx-a100:fabric=leaf-spine,nodes_per_leaf=8,nodes=40,spines=3");
  EXPECT_EQ(a.link_count(), b.link_count());
  EXPECT_TRUE(a.find("spine2"));
  EXPECT_FALSE(a.find("spine3"));
  EXPECT_TRUE(a.find("leaf4"));
}

TEST(TopologyArgument, NicsAreMeantOfServersToo) {
  const Topology topology = topology_of("d2l-cluster:nic=40Gb/s");
  Router router(topology);
  EXPECT_EQ(
      router.route(at(topology, "node0/cpu0"), at(topology, "node5/cpu0"))->bandwidth.bytes_per_s,
      5e9);
}

TEST(TopologyArgument, ServersAreCountedApart) {
  const Topology topology = topology_of("d2l-cluster:nodes=8,servers=3");
  EXPECT_EQ(topology.node_count(), 11U);
  EXPECT_EQ(topology.role(id_at<NodeId>(7)), "worker");
  EXPECT_EQ(topology.role(id_at<NodeId>(8)), "server");
}

TEST(TopologyArgument, GpusMayBeOthersOfTheCatalogue) {
  const Topology topology = topology_of("pcie-8gpu:gpu=p40,gpus=2");
  ASSERT_EQ(topology.compute_devices().size(), 2U);
  EXPECT_EQ(topology.device(at(topology, "gpu1"))->name, "p40");
  EXPECT_EQ(topology.device(at(topology, "cpu0"))->name, "xeon-e5-2698v4");
}

TEST(TopologyArgument, OversubscriptionNeedsLeavesAndGetsThem) {
  const Topology topology = topology_of("p3.2xlarge:nodes=8,oversubscription=2");
  EXPECT_EQ(topology.fabric_kind(), "leaf-spine");
  EXPECT_TRUE(topology.find("leaf1"));
  EXPECT_FALSE(topology.find("leaf2"));
  EXPECT_THAT(
      complaints_about_argument("p3.2xlarge:nodes=8,fabric=single-switch,oversubscription=2"),
      HasSubstr("E0323 \"oversubscription\" has no effect in a single-switch fabric"));
  EXPECT_THAT(complaints_about_argument("single-switch:hosts=8,bandwidth=1GB/s,oversubscription=2"),
              HasSubstr("E0323"));
}

TEST(TopologyArgument, MistakesAreNamedWithWhatWouldBeRight) {
  const auto expect = [](const std::string& argument, const std::string& said,
                         const std::string& help) {
    const std::string all = complaints_about_argument(argument);
    EXPECT_THAT(all, HasSubstr(said)) << argument;
    EXPECT_THAT(all, HasSubstr(help)) << argument;
  };
  expect("dgx-a10", "E0320 there is no topology \"dgx-a10\"", "did you mean \"dgx-a100\"?");
  expect("dgx-a100:node=4", "E0321 unknown key \"node\"", "did you mean \"nodes\"?");
  expect("dgx-a100:nodes", "E0321 \"nodes\" is not key=value", "nodes=16");
  expect("dgx-a100:nodes=0", "E0321 \"0\" is no value for nodes", "write nodes=a whole number");
  expect("dgx-a100:nodes=-1", "E0321 \"-1\" is no value for nodes", "a whole number");
  expect("dgx-a100:nodes=1e3", "E0321 \"1e3\" is no value for nodes", "a whole number");
  expect("dgx-a100:nodes=2,nodes=3", "E0321 \"nodes\" is given twice", "keep one");
  expect("dgx-a100:nic=10GB", "E0321 \"10GB\" is no value for nic", "25GB/s");
  expect("dgx-a100:nic=0GB/s", "E0321 \"0GB/s\" is no value for nic", "25GB/s");
  expect("dgx-a100:fabric=fattree", "E0321 \"fattree\" is no value for fabric",
         "did you mean \"fat-tree\"?");
  expect("dgx-a100:nodes=2,levels=4,fabric=fat-tree", "E0321 \"4\" is no value for levels",
         "1, 2 or 3");
  expect("dgx-a100:gpu=p41", "E0321 \"p41\" is no value for gpu", "a GPU of the catalogue");
  expect("dgx-a100:gpu=cx6-200g", "E0321 \"cx6-200g\" is no value for gpu", "such as p40");
  expect("dgx-a100:servers=4", "E0321 \"4\" is no value for servers", "clusters with servers");
  expect("dgx-a100:nodes=4,fabric=torus,dims=2xx2", "E0321 \"2xx2\" is no value for dims", "4x4x2");
  expect("dgx-a100:gpus=9", "E0306 a \"dgx-a100\" has 8 GPUs, not 9", "1 to 8");
  expect("dgx-a100:devices=9", "E0306 a \"dgx-a100\" cannot have 9 CPU devices", "cpu:devices=4");
  expect("dgx-a100:nodes=1000000000", "E0303 with 1000000000 machines", "mistyped");
  expect("dgx-a100:nodes=2,nics=100000", "E0321 \"100000\" is no value for nics", "whole number");
  expect("leaf-spine:hosts=4,bandwidth=1,spines=1000000000",
         "E0321 \"1\" is no value for bandwidth", "1000000000\" is no value for spines");
  expect("fat-tree:hosts=4,bandwidth=1GB/s,ports=1000000000", "is no value for ports", "");
  expect("single-switch:hosts=4", "E0322 the speed of node0/cpu0's wire is not known",
         "give \"bandwidth\"");
  expect("ring:hosts=4,bandwidth=1GB/s,ports=4", "E0323 \"ports\" has no effect in a ring fabric",
         "");
}

TEST(TopologyArgument, NamesNoFileSystemCanHaveAreNoTopology) {
  EXPECT_THAT(complaints_about_argument(std::string(100'000, 'x')), HasSubstr("E0320"));
}

TEST(TopologyArgument, MissingFilesSayTheyAreFiles) {
  Diagnostics diagnostics;
  EXPECT_THROW(read_topology_argument("no/such/file.json", diagnostics), InputError);
}

}  // namespace
}  // namespace twinrun
