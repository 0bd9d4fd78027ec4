#include "core/io/load_topology.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/topology/topologies_for_tests.h"

namespace twinrun {
namespace {

using testing::HasSubstr;

// One mistake: the smallest file that has it, and the whole complaint.
struct Mistake {
  const char* name;
  std::string text;
  const char* code;
  const char* pointer;
  const char* message;
  const char* help;  // a part of it; "" when there is none
};

class LoadTopology : public testing::TestWithParam<Mistake> {};

TEST_P(LoadTopology, SaysWhatIsWrongWhereAndWhatToDo) {
  const Mistake& mistake = GetParam();
  Diagnostics diagnostics;
  spec_of_text(mistake.text, diagnostics);
  ASSERT_EQ(diagnostics.all().size(), 1U) << complaints(diagnostics);
  const Diagnostic& said = diagnostics.all().front();
  EXPECT_EQ(said.severity, Severity::kError);
  EXPECT_EQ(said.code, mistake.code);
  EXPECT_EQ(said.place.file, "t.json");
  EXPECT_EQ(said.place.pointer, mistake.pointer);
  EXPECT_EQ(said.message, mistake.message);
  EXPECT_THAT(said.help, HasSubstr(mistake.help));
  EXPECT_EQ(said.help.empty(), std::string(mistake.help).empty()) << said.help;
}

std::string nodes(const std::string& entries) { return R"({"nodes": [)" + entries + "]}"; }

std::string part(const std::string& members) {
  return R"({"nodes": {"m": 1}, "templates": {"m": {"parts": [{)" + members + "}]}}}";
}

std::string link(const std::string& members) {
  return R"({"nodes": {"cpu": 1}, "links": [{)" + members + "}]}";
}

std::string fabric(const std::string& members) {
  return R"({"nodes": {"cpu": 1}, "fabric": {)" + members + "}}";
}

std::string change(const std::string& members) {
  return R"({"nodes": {"cpu": 1}, "overrides": [{)" + members + "}]}";
}

std::string device(const std::string& members) {
  return R"({"nodes": {"cpu": 1}, "devices": {"d": {)" + members + "}}}";
}

constexpr const char* kEnds = R"("from": "cpu0", "to": "cpu1")";

INSTANTIATE_TEST_SUITE_P(
    Mistakes,
    LoadTopology,
    testing::Values(
        Mistake{"NotAnObject", "[]", "E0202", "",
                "expected a topology as an object {…}, found an array", ""},
        Mistake{"OtherSchema", R"({"schema": "twinrun/plan/1", "nodes": {"cpu": 1}})", "E0207",
                "/schema", "this is \"twinrun/plan/1\", not a topology",
                "a topology says \"schema\": \"twinrun/topology/1\""},
        Mistake{"NoNodes", "{}", "E0201", "", "a topology has no \"nodes\"", "add \"nodes\": …"},
        Mistake{"NodesEmpty", R"({"nodes": {}})", "E0203", "/nodes", "\"nodes\" names no machine",
                "{\"dgx-a100\": 2}"},
        Mistake{"NodesANumber", R"({"nodes": 3})", "E0202", "/nodes",
                "expected a list of nodes as an object {…}, found an integer", ""},
        Mistake{"NodesNegative", R"({"nodes": {"cpu": -4}})", "E0203", "/nodes/cpu",
                "\"cpu\" must lie in 1 … 1000000000, is -4", ""},
        Mistake{"UnknownKey", R"({"nodes": {"cpu": 1}, "fabrik": {}})", "E0205", "/fabrik",
                "unknown key \"fabrik\" in a topology", "did you mean \"fabric\"?"},
        Mistake{"EntryWithoutTemplate", nodes("{}"), "E0201", "/nodes/0",
                "a nodes entry has no \"template\"", "add \"template\": …"},
        Mistake{"NodeNameWithNumber", nodes(R"({"template": "cpu", "name": "n1"})"), "E0203",
                "/nodes/0/name", "the name \"n1\" must be a plain word", "added by the count"},
        Mistake{"NodeNameEmpty", nodes(R"({"template": "cpu", "name": ""})"), "E0203",
                "/nodes/0/name", "the name \"\" must be a plain word", "added by the count"},
        Mistake{"NicOfNoSpeed", nodes(R"({"template": "cpu", "nic": 0})"), "E0203", "/nodes/0/nic",
                "\"nic\" must be greater than 0", "\"failed\": true"},
        Mistake{"NicsWithoutEnd", nodes(R"({"template": "cpu", "nics": 1000000})"), "E0203",
                "/nodes/0/nics", "\"nics\" must lie in 0 … 10000, is 1000000", ""},
        Mistake{"TemplateWithoutParts", R"({"nodes": {"m": 1}, "templates": {"m": {}}})", "E0201",
                "/templates/m", "a template has no \"parts\"", "add \"parts\": …"},
        Mistake{"PartOfNothing", part(R"("name": "gpu")"), "E0201", "/templates/m/parts/0",
                "a part needs a \"device\", a \"kind\" or a \"template\"", "a100-sxm4-40gb"},
        Mistake{"PartWithoutName", part(R"("kind": "gpu")"), "E0201", "/templates/m/parts/0",
                "a part has no \"name\"", "add \"name\": \"gpu\""},
        Mistake{"PartOfTwoKinds", part(R"("name": "gpu", "kind": "gpu", "template": "cpu")"),
                "E0203", "/templates/m/parts/0",
                "the part \"gpu\" has more than one of \"device\", \"kind\" and \"template\"",
                "keep one"},
        Mistake{"PartNamedByNumber", part(R"("name": "gpu0", "kind": "gpu")"), "E0203",
                "/templates/m/parts/0/name", "the name \"gpu0\" must be a plain word",
                "\"gpu\" gives gpu0"},
        Mistake{"PartOfUnknownKind", part(R"("name": "gpu", "kind": "gpx")"), "E0204",
                "/templates/m/parts/0/kind", "\"gpx\" is not a known \"kind\"",
                "did you mean \"gpu\"?"},
        Mistake{"PartOfUnknownDevice", part(R"("name": "gpu", "device": "v100-sxm2-32gib")"),
                "E0324", "/templates/m/parts/0", "there is no device \"v100-sxm2-32gib\"",
                "did you mean \"v100-sxm2-32gb\"?"},
        Mistake{"IdsOfNumbers", part(R"("name": "gpu", "kind": "gpu", "ids": [7])"), "E0202",
                "/templates/m/parts/0/ids/0", "expected a bus id as a string, found an integer",
                ""},
        Mistake{"LinkWithoutBandwidth", link(kEnds), "E0201", "/links/0",
                "a link has no \"bandwidth\"", "add \"bandwidth\": …"},
        Mistake{"LinkOfNoBandwidth", link(std::string(kEnds) + R"(, "bandwidth": "0GB/s")"),
                "E0203", "/links/0/bandwidth", "\"bandwidth\" must be greater than 0",
                "\"failed\": true"},
        Mistake{"BandwidthInBytes", link(std::string(kEnds) + R"(, "bandwidth": "25GB")"), "E0206",
                "/links/0/bandwidth", "\"25GB\" is not a quantity for \"bandwidth\"", "25GB/s"},
        Mistake{"LatencyNegative", link(std::string(kEnds) + R"(, "bandwidth": 1, "latency": -1)"),
                "E0203", "/links/0/latency", "\"latency\" must be at least 0, is -1", ""},
        Mistake{"EndANumber", link(R"("from": 3, "to": "cpu0", "bandwidth": 1)"), "E0202",
                "/links/0/from", "expected a name or a list of names, found an integer", ""},
        Mistake{"EndsEmpty", link(R"("from": [], "to": "cpu0", "bandwidth": 1)"), "E0202",
                "/links/0/from", "expected a name or a list of names, found an array", ""},
        Mistake{"EndOfNumbers", link(R"("from": ["cpu0", 3], "to": "cpu0", "bandwidth": 1)"),
                "E0202", "/links/0/from/1", "expected a name such as \"gpu0\", found an integer",
                ""},
        Mistake{"LinkWithTypo", link(std::string(kEnds) + R"(, "bandwidth": 1, "latencie": 1)"),
                "E0205", "/links/0/latencie", "unknown key \"latencie\" in a link",
                "did you mean \"latency\"?"},
        Mistake{"PairingUnknown",
                link(std::string(kEnds) + R"(, "bandwidth": 1, "pairing": "some")"), "E0204",
                "/links/0/pairing", "\"some\" is not a known \"pairing\"", "all, each"},
        Mistake{"FabricWithoutKind", fabric(""), "E0201", "/fabric", "a fabric has no \"kind\"",
                "add \"kind\": …"},
        Mistake{"FabricUnknown", fabric(R"("kind": "fattree")"), "E0204", "/fabric/kind",
                "\"fattree\" is not a known \"kind\"", "did you mean \"fat-tree\"?"},
        Mistake{"KeyWithoutEffect", fabric(R"("kind": "ring", "spines": 3)"), "E0323",
                "/fabric/spines", "\"spines\" has no effect in a ring fabric", "remove it"},
        Mistake{"OversubscriptionZero", fabric(R"("kind": "fat-tree", "oversubscription": 0)"),
                "E0203", "/fabric/oversubscription",
                "\"oversubscription\" must be at least 0.001, is 0", ""},
        Mistake{"LevelsFour", fabric(R"("kind": "fat-tree", "levels": 4)"), "E0203",
                "/fabric/levels", "\"levels\" must lie in 1 … 3, is 4", ""},
        Mistake{"DimsOfZero", fabric(R"("kind": "torus", "dims": [4, 0])"), "E0202",
                "/fabric/dims/1", "expected a whole number of at least 1, found an integer", ""},
        Mistake{"SwitchWithoutName", R"({"nodes": {"cpu": 1}, "switches": [{}]})", "E0201",
                "/switches/0", "a switch has no \"name\"", "add \"name\": …"},
        Mistake{"SwitchNamedByNumber", R"({"nodes": {"cpu": 1}, "switches": [{"name": "tor1"}]})",
                "E0203", "/switches/0/name", "the name \"tor1\" must be a plain word",
                "added by the count"},
        Mistake{"OverrideOfNothing", change(R"("compute_scale": 2)"), "E0201", "/overrides/0",
                "an override does not say what it changes", "\"vertices\""},
        Mistake{"OverrideNoObject", R"({"nodes": {"cpu": 1}, "overrides": [3]})", "E0202",
                "/overrides/0", "expected an override as an object {…}, found an integer", ""},
        Mistake{"OverrideOfOneEnd", change(R"("link": ["cpu0"], "failed": true)"), "E0203",
                "/overrides/0/link", "\"link\" must name two ends", "[\"gpu0\", \"gpu1\"]"},
        Mistake{"OverrideMixed", change(R"("vertices": "cpu0", "bandwidth_scale": 2)"), "E0205",
                "/overrides/0/bandwidth_scale",
                "unknown key \"bandwidth_scale\" in an override of vertices",
                "memory_bandwidth_scale"},
        Mistake{"OverrideToUnknownDevice", change(R"("vertices": "cpu0", "device": "hosst")"),
                "E0324", "/overrides/0", "there is no device \"hosst\"", "did you mean \"host\"?"},
        Mistake{"PeerAccessUnsaid", change(R"("p2p": ["cpu0", "cpu1"])"), "E0201", "/overrides/0",
                "an override of peer access has no \"allowed\"", "add \"allowed\": …"},
        Mistake{"DeviceWithoutKind", device(""), "E0201", "/devices/d", "a device has no \"kind\"",
                "add \"kind\": …"},
        Mistake{"PeakUnknown", device(R"("kind": "gpu", "peak": {"fp31": 1})"), "E0205",
                "/devices/d/peak/fp31", "unknown key \"fp31\" in a peak", "did you mean \"fp32\"?"},
        Mistake{"MemoryInBits", device(R"("kind": "gpu", "memory": "40Gb")"), "E0206",
                "/devices/d/memory", "\"40Gb\" is not a quantity for \"memory\"", "80GiB"}),
    [](const auto& one) { return std::string(one.param.name); });

TEST(LoadTopologyFile, ReportsAllMistakesAtOnce) {
  Diagnostics diagnostics;
  spec_of_text(R"({"nodes": {"cpu": 0}, "extra": 1,
                   "devices": {"d": {"kind": "gpu", "memory": true}},
                   "templates": {"m": {"parts": [{"name": "g", "device": "zzz"}, {"name": "9", "kind": "gpu"}],
                                       "links": [{"from": "a0", "bandwidth": 1}]}},
                   "fabric": {"kind": "ring", "dims": [2]}})",
               diagnostics);
  EXPECT_EQ(
      complaints(diagnostics),
      "E0202 /devices/d/memory: expected a quantity such as \"80GiB\", \"25MB\", \"4096B\" or "
      "a number of bytes, found a boolean\n"
      "E0203 /templates/m/parts/1/name: the name \"9\" must be a plain word\n"
      "E0201 /templates/m/links/0: a link has no \"to\"\n"
      "E0203 /nodes/cpu: \"cpu\" must lie in 1 … 1000000000, is 0\n"
      "E0323 /fabric/dims: \"dims\" has no effect in a ring fabric\n"
      "E0205 /extra: unknown key \"extra\" in a topology\n"
      "E0324 /templates/m/parts/0: there is no device \"zzz\"\n");
}

TEST(LoadTopologyFile, TakesMachinesFromTheCatalogueWithTheirNetwork) {
  const Topology topology = topology_of_text(R"({"nodes": {"dgx-a100": 2}})");
  EXPECT_EQ(topology.fabric_kind(), "rail-optimized");
  EXPECT_EQ(topology.device(at(topology, "node1/gpu7"))->name, "a100-sxm4-40gb");
}

TEST(LoadTopologyFile, OwnTemplatesDoNotChangeThoseOfTheCatalogue) {
  const Topology topology = topology_of_text(R"({
    "templates": {"socket": {"parts": [{"name": "gpu", "kind": "gpu", "count": 5}]}},
    "nodes": [{"template": "socket", "name": "mine"}, {"template": "pcie-8gpu"}],
    "links": [{"from": "mine0/gpu*", "to": "node0/nic0", "bandwidth": 1}]})");
  EXPECT_TRUE(topology.find("mine0/gpu4"));
  EXPECT_TRUE(topology.find("node0/gpu7"));
  EXPECT_FALSE(topology.find("node0/gpu8"));
}

TEST(LoadTopologyFile, CatalogueMachinesNestInOwnTemplates) {
  const Topology topology = topology_of_text(R"({
    "templates": {"rack": {"parts": [{"template": "pcie-8gpu", "name": "box", "count": 2}]}},
    "nodes": {"rack": 1}})");
  EXPECT_EQ(topology.device(at(topology, "box1/gpu7"))->name, "gtx-1080ti");
}

TEST(LoadTopologyFile, OwnDevicesGoBeforeThoseOfTheCatalogue) {
  const Topology topology = topology_of_text(R"({
    "devices": {"h100-sxm5": {"kind": "gpu", "sm": 91}}, "nodes": {"dgx-h100": 1}})");
  EXPECT_EQ(topology.device(at(topology, "gpu0"))->sm, 91);
}

}  // namespace
}  // namespace twinrun
