#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/io/embedded.h"
#include "core/io/json_document.h"
#include "core/io/load_topology.h"
#include "core/topology/build_topology.h"
#include "tests/core/io/schema_checker.h"

namespace twinrun {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kDevices = "topologies/devices.json";

// A topology that uses every part of the format; each broken one below is this with one mistake.
Json everything() {
  return Json::parse(R"json({
    "schema": "twinrun/topology/1", "name": "everything", "description": "d", "source": "s",
    "devices": {
      "g": {"kind": "gpu", "sm": 80, "peak": {"fp32": "19.5TFLOP/s", "fp16": 312}, "memory": "40GiB",
            "memory_bandwidth": "1555GB/s", "launch_overhead": "5us", "watts": 400},
      "n": {"kind": "nic", "rate": "200Gb/s", "latency": "0us", "comment": "c"},
      "c": {"kind": "cpu", "vendor": "amd", "model": 49, "cores": 64}
    },
    "templates": {
      "half": {"parts": [{"name": "gpu", "count": 4, "device": "g"}], "links": []},
      "box": {
        "parts": [{"template": "half", "count": 2}, {"name": "cpu", "device": "c"},
                  {"name": "nic", "count": 2, "device": "n", "ids": ["0x1", "0x2"]},
                  {"name": "pcie", "count": 4, "kind": "pcie-switch"}],
        "links": [{"from": "gpu*", "to": "pcie*", "pairing": "each", "kind": "pcie", "count": 1,
                   "bandwidth": "24GB/s", "line_rate": "31.5 GB/s", "latency": 0.4},
                  {"from": ["pcie0", "pcie[1-3]"], "to": "cpu0", "kind": "pcie", "bandwidth": 24,
                   "duplex": "half"}],
        "p2p": "PXB", "gpu_direct": "LOC", "price_per_hour": 3.5, "watts": 6500
      }
    },
    "nodes": [{"template": "box", "count": 4, "role": "worker", "name": "node", "nic": "10Gb/s"}],
    "fabric": {"kind": "leaf-spine", "latency": "1µs", "nodes_per_leaf": 2, "spines": 2,
               "oversubscription": 1.5, "routing": "ecmp"},
    "switches": [{"name": "tor", "count": 2}],
    "links": [{"from": "node0/nic0", "to": "tor0", "kind": "network", "bandwidth": "10Gb/s"}],
    "overrides": [{"vertices": "node3/gpu5", "compute_scale": 0.8},
                  {"link": ["node0/nic0", "leaf0"], "bandwidth_scale": 0.5, "failed": false},
                  {"p2p": ["gpu0", "gpu1"], "allowed": false}]
  })json");
}

TEST(TopologySchema, EveryFileOfTheCatalogueIsValid) {
  const SchemaChecker topology("topology");
  std::size_t seen = 0;
  for (const EmbeddedFile& file : embedded_topologies()) {
    if (file.name != kDevices) {
      EXPECT_EQ(topology.complaints(Json::parse(file.text)), "") << file.name;
      ++seen;
    }
  }
  EXPECT_GE(seen, 15U);
}

TEST(TopologySchema, TheListOfDevicesIsValid) {
  const Json devices = embedded_json(embedded_topologies(), kDevices);
  EXPECT_EQ(SchemaChecker("devices").complaints(devices), "");
}

TEST(TopologySchema, EveryPartOfTheFormatIsAccepted) {
  EXPECT_EQ(SchemaChecker("topology").complaints(everything()), "");
}

TEST(TopologySchema, NodesMayBeCountsByTemplate) {
  Json value = everything();
  value["nodes"] = {{"box", 128}};
  EXPECT_EQ(SchemaChecker("topology").complaints(value), "");
}

TEST(TopologySchema, EveryDeviceAndLinkOfTheCatalogueSaysItsSource) {
  for (const EmbeddedFile& file : embedded_topologies()) {
    const Json value = Json::parse(file.text);
    const Json none = Json::object();
    const Json devices = value.value("devices", none);
    const Json templates = value.value("templates", none);
    for (const auto& [name, device] : devices.items()) {
      EXPECT_TRUE(device.contains("source")) << file.name << " " << name;
    }
    for (const auto& [name, machine] : templates.items()) {
      for (const Json& link : machine.value("links", Json::array())) {
        EXPECT_TRUE(link.contains("source")) << file.name << " " << name << " " << link;
      }
    }
  }
}

// One mistake: set the value at the pointer (or remove it).
struct Mistake {
  const char* what;
  const char* pointer;
  const char* value;  // JSON; nullptr removes
};

class BrokenTopology : public testing::TestWithParam<Mistake> {};

// Schema and loader are two descriptions of one format: what one refuses the other must, too.
bool loader_refuses(const Json& value) {
  Diagnostics diagnostics;
  const JsonDocument document =
      JsonDocument::read(Source::of_text("broken.json", value.dump()), diagnostics);
  const TopologySpec spec = read_topology(document.root(), diagnostics);
  if (!diagnostics.has_errors()) {
    build_topology(spec, diagnostics);
  }
  return diagnostics.has_errors();
}

TEST_P(BrokenTopology, IsRefused) {
  const Json::json_pointer pointer(GetParam().pointer);
  Json value = everything();
  if (GetParam().value != nullptr) {
    value[pointer] = Json::parse(GetParam().value);
  } else {
    value.at(pointer.parent_pointer()).erase(pointer.back());
  }
  EXPECT_NE(SchemaChecker("topology").complaints(value), "") << value.dump(1);
  EXPECT_TRUE(loader_refuses(value)) << value.dump(1);
}

INSTANTIATE_TEST_SUITE_P(
    OneMistakeEach,
    BrokenTopology,
    testing::Values(Mistake{"OtherSchema", "/schema", R"("twinrun/plan/1")"},
                    Mistake{"NoNodes", "/nodes", nullptr},
                    Mistake{"UnknownKey", "/fabrik", "{}"},
                    Mistake{"UnknownKeyInLink", "/templates/box/links/0/bandwith", R"("1GB/s")"},
                    Mistake{"NodesZero", "/nodes/0/count", "0"},
                    Mistake{"NodesFraction", "/nodes/0/count", "1.5"},
                    Mistake{"NodesText", "/nodes/0/count", R"("4")"},
                    Mistake{"NodesEmpty", "/nodes", "[]"},
                    Mistake{"NodesNegativeByName", "/nodes", R"({"box": -4})"},
                    Mistake{"NoParts", "/templates/box/parts", nullptr},
                    Mistake{"PartWithoutDeviceOrKind", "/templates/box/parts/1/device", nullptr},
                    Mistake{"PartWithDeviceAndTemplate", "/templates/box/parts/0/device", R"("g")"},
                    Mistake{"PartOfUnknownKind", "/templates/box/parts/3/kind", R"("router")"},
                    Mistake{"LinkWithoutEnd", "/templates/box/links/0/to", nullptr},
                    Mistake{"LinkWithoutBandwidth", "/templates/box/links/0/bandwidth", nullptr},
                    Mistake{"LinkOfUnknownKind", "/templates/box/links/0/kind", R"("pci")"},
                    Mistake{"LinkPairedOddly", "/templates/box/links/0/pairing", R"("some")"},
                    Mistake{"LinkOfZeroBandwidth", "/templates/box/links/0/bandwidth", "0"},
                    Mistake{"LinkOfNegativeBandwidth", "/templates/box/links/0/bandwidth", "-5"},
                    Mistake{"BandwidthWithoutUnit", "/templates/box/links/0/bandwidth", R"("25")"},
                    Mistake{"BandwidthInBytes", "/templates/box/links/0/bandwidth", R"("25GB")"},
                    Mistake{"LatencyInBandwidth", "/templates/box/links/0/latency", R"("1GB/s")"},
                    Mistake{"LatencyNegative", "/templates/box/links/0/latency", R"("-1us")"},
                    Mistake{"DeviceWithoutKind", "/devices/g/kind", nullptr},
                    Mistake{"PeakOfUnknownFormat", "/devices/g/peak/fp31", "1"},
                    Mistake{"MemoryInBits", "/devices/g/memory", R"("40Gb")"},
                    Mistake{"VendorUnknown", "/devices/c/vendor", R"("acme")"},
                    Mistake{"PathClassUnknown", "/templates/box/p2p", R"("NEAR")"},
                    Mistake{"FabricUnknown", "/fabric/kind", R"("hypercube")"},
                    Mistake{"OversubscriptionZero", "/fabric/oversubscription", "0"},
                    Mistake{"OverrideOfNothing", "/overrides/0/vertices", nullptr},
                    Mistake{"OverrideOfOneEnd", "/overrides/1/link", R"(["node0/nic0"])"},
                    Mistake{"OverrideMixed", "/overrides/2/compute_scale", "0.5"},
                    Mistake{"SwitchWithoutName", "/switches/0/name", nullptr}),
    [](const auto& one) { return std::string(one.param.what); });

}  // namespace
}  // namespace twinrun
