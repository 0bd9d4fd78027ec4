#include "core/topology/build_topology.h"

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/core/topology/topologies_for_tests.h"

namespace twinrun {
namespace {

// Everything a reader can see of a topology, as text.
std::string columns(const Topology& topology) {
  std::string out;
  for (std::size_t v = 0; v < topology.vertex_count(); ++v) {
    const VertexId vertex = id_at<VertexId>(v);
    const DeviceSpec* device = topology.device(vertex);
    out += topology.name(vertex) + " " + std::string(word(topology.kind(vertex))) + " " +
           (device != nullptr ? device->name : "-") + " " +
           std::to_string(topology.compute_scale(vertex)) + "\n";
  }
  for (std::size_t l = 0; l < topology.link_count(); ++l) {
    const LinkId link = id_at<LinkId>(l);
    out += topology.link_name(link) + " " + std::string(word(topology.link_kind(link))) + " " +
           std::to_string(topology.bandwidth(link).bytes_per_s) + " " +
           std::to_string(topology.latency(link).ps) + " " +
           std::to_string(index_of(topology.reverse(link))) + " " +
           std::to_string(index_of(topology.capacity_owner(link))) + "\n";
  }
  return out;
}

TEST(BuildTopology, TwiceGivesEqualColumns) {
  for (const char* argument :
       {"dgx-h100:nodes=5", "d2l-cluster", "torus:hosts=8,bandwidth=1GB/s"}) {
    EXPECT_EQ(columns(topology_of(argument)), columns(topology_of(argument)));
  }
}

TEST(BuildTopology, OrderOfDevicesTemplatesAndKeysChangesNothing) {
  const std::string text = R"({
    "schema": "twinrun/topology/1",
    "devices": {"g": {"kind": "gpu", "sm": 80}, "n": {"rate": 10, "kind": "nic"},
                "c": {"kind": "cpu", "cores": 3}},
    "templates": {
      "half": {"parts": [{"name": "gpu", "count": 2, "device": "g"}],
               "links": [{"from": "gpu0", "to": "gpu1", "bandwidth": 3, "kind": "nvlink"}]},
      "box": {"parts": [{"template": "half", "count": 2}, {"name": "cpu", "device": "c"},
                        {"name": "nic", "device": "n"}],
              "links": [{"from": "*", "to": "cpu0", "bandwidth": 5}]}},
    "nodes": [{"template": "box", "count": 3}],
    "fabric": {"kind": "leaf-spine", "nodes_per_leaf": 2},
    "overrides": [{"vertices": "node1/gpu2", "compute_scale": 0.5}]})";
  auto ordered = nlohmann::ordered_json::parse(text);
  ordered["templates"]["box"]["links"][0]["from"] = {"gpu*", "nic0"};
  const auto reversed = [](const nlohmann::ordered_json& object) {
    nlohmann::ordered_json out = nlohmann::ordered_json::object();
    for (auto it = object.rbegin(); it != object.rend(); ++it) {
      out[it.key()] = it.value();
    }
    return out;
  };
  auto turned = reversed(ordered);
  for (const char* key : {"devices", "templates", "fabric"}) {
    turned[key] = reversed(turned[key]);
  }
  for (auto& one : turned["templates"]["box"]["links"]) {
    one = reversed(one);
  }
  ASSERT_NE(ordered.dump(), turned.dump());
  EXPECT_EQ(columns(topology_of_text(ordered.dump())), columns(topology_of_text(turned.dump())));
}

TEST(Topology, NamesAloneInOneMachineAndWithTheMachineInSeveral) {
  const Topology one = topology_of("dgx-a100");
  EXPECT_EQ(one.name(at(one, "gpu3")), "gpu3");
  EXPECT_EQ(at(one, "node0/gpu3"), at(one, "gpu3"));
  EXPECT_FALSE(one.find("node1/gpu3"));
  EXPECT_FALSE(one.find("gpu8"));
  const Topology two = topology_of("dgx-a100:nodes=2");
  EXPECT_EQ(two.name(at(two, "node1/gpu3")), "node1/gpu3");
  EXPECT_FALSE(two.find("gpu3"));
  EXPECT_FALSE(two.find("node2/gpu3"));
  for (const char* odd : {"", "/", "node0", "node0/", "node0/gpu", "node0/gpu3/x0",
                          "node99999999999999999999/gpu0", "node0/gpu99999999999999999999"}) {
    EXPECT_FALSE(two.find(odd)) << odd;
    EXPECT_FALSE(one.find(odd)) << odd;
  }
}

TEST(Topology, GroupsOfOneNameAreNumberedOn) {
  const Topology topology = topology_of("d2l-cluster:nodes=3");
  EXPECT_EQ(topology.node_count(), 5U);
  EXPECT_EQ(topology.role(id_at<NodeId>(2)), "worker");
  EXPECT_EQ(topology.role(id_at<NodeId>(3)), "server");
  EXPECT_EQ(topology.node_name(id_at<NodeId>(4)), "node4");
}

TEST(BuildTopology, PatternsNameMachinesWhoseWordHasDigits) {
  const Topology topology = topology_of_text(R"({
    "templates": {"m": {"parts": [{"name": "gpu", "kind": "gpu"}]}},
    "nodes": [{"template": "m", "count": 2, "name": "rack1-box"}],
    "links": [{"from": "rack1-box0/gpu*", "to": "rack1-box[1]/gpu0", "bandwidth": 1}]})");
  EXPECT_EQ(topology.link_name(id_at<LinkId>(0)), "rack1-box0/gpu0 -> rack1-box1/gpu0");
}

std::string with(const std::string& rest) {
  return R"({"templates": {"m": {"parts": [{"name": "gpu", "kind": "gpu"}]},
                           "c": {"parts": [{"name": "cpu", "kind": "cpu"}]}}, )" +
         rest + "}";
}

TEST(BuildTopology, ComplaintsSayWhatAndWhere) {
  EXPECT_EQ(complaints_about(with(R"("nodes": {"m": 2})")),
            "W0301 : the 2 machines are not connected\n");
  EXPECT_EQ(complaints_about(with(R"("nodes": {"m": 2}, "fabric": {"kind": "ring"})")),
            "E0309 /nodes/m: node0 has neither a NIC nor a CPU to plug into the fabric\n");
  EXPECT_EQ(complaints_about(with(R"("nodes": {"c": 2}, "fabric": {"kind": "ring"})")),
            "E0322 /fabric: the speed of node0/cpu0's wire is not known\n");
  EXPECT_EQ(
      complaints_about(with(
          R"("nodes": {"c": 6}, "fabric": {"kind": "torus", "bandwidth": 1, "dims": [4, 2]})")),
      "E0308 /fabric: a torus of 6 machines cannot have dims [4, 2]\n");
  EXPECT_EQ(
      complaints_about(with(
          R"("nodes": {"c": 9}, "fabric": {"kind": "fat-tree", "bandwidth": 1, "ports": 4, "levels": 2})")),
      "E0307 /fabric: 9 ports do not fit a fat-tree of 2 levels of 4-port switches, which has 8\n");
  EXPECT_EQ(complaints_about(with(R"("nodes": {"x": 1, "y": 2, "m": 1})")),
            "E0301 /nodes/x: there is no template \"x\"\n"
            "E0301 /nodes/y: there is no template \"y\"\n");
  EXPECT_EQ(complaints_about(with(
                R"("nodes": {"m": 5}, "links": [
                   {"from": "node[0-2]/gpu0", "to": "node[3-4]/gpu0", "pairing": "each", "bandwidth": 1},
                   {"from": "node0/gpx0", "to": "tor0", "bandwidth": 1},
                   {"from": "node0/gpu0", "to": "node0/gpu0", "bandwidth": 1}])")),
            "E0305 /links/0: cannot pair 3 with 2 one by one\n"
            "E0304 /links/1: nothing in this topology is named \"node0/gpx0\"\n"
            "E0304 /links/1: nothing in this topology is named \"tor0\"\n"
            "E0305 /links/2: the link would join a part with itself\n");
}

TEST(BuildTopology, TooManyLinksAreRefusedBeforeTheyAreMade) {
  EXPECT_EQ(
      complaints_about(with(
          R"("nodes": {"m": 10000}, "links": [{"from": "node*/gpu0", "to": "node*/gpu0", "bandwidth": 1}])")),
      "E0303 /links/0: 10000 times 10000 links are more than the 16000000 a topology may have\n");
  EXPECT_EQ(
      complaints_about(with(
          R"("nodes": {"c": 10000}, "fabric": {"kind": "leaf-spine", "bandwidth": 1, "nodes_per_leaf": 1, "spines": 100000})")),
      "E0303 /fabric: the fabric would have 2000020000 links, more than 16000000\n");
  EXPECT_EQ(
      complaints_about(with(
          R"("nodes": {"m": 1}, "switches": [{"name": "a", "count": 1000000}, {"name": "b", "count": 1000000},
                   {"name": "c", "count": 1000000}, {"name": "d", "count": 1000000}])")),
      "E0303 /switches/3: with 1000000 switches a topology would have more than 4000000 parts\n");
}

}  // namespace
}  // namespace twinrun
