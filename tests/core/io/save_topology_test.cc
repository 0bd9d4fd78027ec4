#include "core/io/save_topology.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace twinrun {
namespace {

TEST(ExactText, ReadsBackToTheSameValue) {
  for (const double rate : {12.5e9, 1.25e9, 187.5e6, 1555e9, 20.6e9, 1e9 / 3, 1.0, 123456789.123}) {
    EXPECT_EQ(parse_bandwidth(exact_text(Bandwidth{rate})), Bandwidth{rate})
        << exact_text(Bandwidth{rate});
  }
  for (const std::int64_t ps : {0L, 1L, 400'000L, 600'000L, 1'234'567L, 5'000'000'000L}) {
    EXPECT_EQ(parse_time(exact_text(Time{ps})), Time{ps}) << exact_text(Time{ps});
  }
  for (const std::int64_t bytes : {1L, 40L << 30, 25'000'000L, 123'456'789'123L}) {
    EXPECT_EQ(parse_bytes(exact_text(Bytes{bytes})), Bytes{bytes}) << exact_text(Bytes{bytes});
  }
  for (const double rate : {19.5e12, 704e9, 1e12 / 3}) {
    EXPECT_EQ(parse_flop_rate(exact_text(FlopRate{rate})), FlopRate{rate})
        << exact_text(FlopRate{rate});
  }
}

TEST(ExactText, TakesTheUsualUnit) {
  EXPECT_EQ(exact_text(gigabytes_per_second(24)), "24GB/s");
  EXPECT_EQ(exact_text(Bandwidth{25e9}), "25GB/s");
  EXPECT_EQ(exact_text(microseconds(0.4)), "0.4us");
  EXPECT_EQ(exact_text(Bytes{std::int64_t{80} << 30}), "80GiB");
  EXPECT_EQ(exact_text(FlopRate{312e12}), "312TFLOP/s");
}

TEST(SaveTopology, WritesKeysInOrderAndShortObjectsOnOneLine) {
  TopologySpec spec;
  spec.name = "tiny";
  spec.devices.push_back({});
  spec.devices.back().name = "g";
  spec.devices.back().sm = 80;
  spec.devices.back().memory = {std::int64_t{40} << 30};
  TemplateSpec box;
  box.name = "box";
  PartSpec part;
  part.name = "gpu";
  part.count = 2;
  part.device = "g";
  box.parts.push_back(part);
  LinkSpec link;
  link.from = {"gpu0"};
  link.to = {"gpu1"};
  link.kind = LinkKind::kNvlink;
  link.count = 4;
  link.bandwidth = gigabytes_per_second(12);
  box.links.push_back(link);
  spec.templates.push_back(box);
  spec.nodes.push_back({});
  spec.nodes.back().template_name = "box";
  spec.nodes.back().count = 3;
  FabricSpec fabric;
  fabric.kind = "ring";
  spec.fabric = fabric;
  EXPECT_EQ(save_topology(spec), R"({
  "schema": "twinrun/topology/1",
  "name": "tiny",
  "devices": {
    "g": { "kind": "gpu", "sm": 80, "memory": "40GiB" }
  },
  "templates": {
    "box": {
      "parts": [
        { "name": "gpu", "count": 2, "device": "g" }
      ],
      "links": [
        { "from": "gpu0", "to": "gpu1", "kind": "nvlink", "count": 4, "bandwidth": "12GB/s" }
      ],
      "p2p": "PXB",
      "gpu_direct": "PXB"
    }
  },
  "nodes": { "box": 3 },
  "fabric": { "kind": "ring", "latency": "1us" }
}
)");
}

TEST(SaveTopology, EverySetFieldIsWritten) {
  TopologySpec spec;
  NodesSpec nodes;
  nodes.template_name = "box";
  nodes.role = "worker";
  nodes.nic_rate = Bandwidth{1.25e9};
  spec.nodes.push_back(nodes);
  PartSpec tor;
  tor.name = "tor";
  tor.count = 2;
  spec.switches.push_back(tor);
  OverrideSpec slow;
  slow.vertices = {"node3/gpu5"};
  slow.compute_scale = 0.8;
  OverrideSpec down;
  down.link_ends = {"node0/nic0", "tor0"};
  down.failed = true;
  OverrideSpec apart;
  apart.p2p_pair = {"gpu0", "gpu1"};
  apart.p2p_allowed = false;
  spec.overrides = {slow, down, apart};
  const auto json = nlohmann::json::parse(save_topology(spec));
  EXPECT_EQ(json["nodes"],
            nlohmann::json::parse(
                R"([{"template": "box", "count": 1, "role": "worker", "nic": "10Gb/s"}])"));
  EXPECT_EQ(json["switches"], nlohmann::json::parse(R"([{"name": "tor", "count": 2}])"));
  EXPECT_EQ(json["overrides"], nlohmann::json::parse(R"([
      {"vertices": "node3/gpu5", "compute_scale": 0.8},
      {"link": ["node0/nic0", "tor0"], "failed": true},
      {"p2p": ["gpu0", "gpu1"], "allowed": false}])"));
}

}  // namespace
}  // namespace twinrun
