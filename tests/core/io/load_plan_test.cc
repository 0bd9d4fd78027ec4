#include "core/io/load_plan.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/io/example_plan.h"

namespace twinrun {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

struct Loaded {
  std::optional<Plan> plan;
  Diagnostics diagnostics;

  [[nodiscard]] std::vector<std::string> complaints() const {
    std::vector<std::string> all;
    for (const Diagnostic& diagnostic : diagnostics.all()) {
      all.push_back(diagnostic.code + " " + diagnostic.place.pointer);
    }
    return all;
  }
};

Loaded load(const std::string& text) {
  Loaded loaded;
  loaded.plan = load_valid_plan(Source::of_text("plan.json", text), {}, loaded.diagnostics);
  return loaded;
}

// A plan of these ops on gpu0 and gpu1.
Loaded load_ops(const std::string& ops) {
  return load(R"({"schema": "twinrun/plan/1", "devices": ["gpu0", "gpu1"],
                  "groups": {"world": ["gpu0", "gpu1"]}, "ops": [)" +
              ops + "]}");
}

TEST(LoadPlan, ReadsEveryKindOfOp) {
  const Loaded loaded = load(kExamplePlan);
  EXPECT_THAT(loaded.complaints(), ElementsAre());
  ASSERT_TRUE(loaded.plan);
  const Plan& plan = *loaded.plan;
  ASSERT_EQ(plan.size(), 15U);
  EXPECT_EQ(plan.text().topology, "pcie-2x2080ti");
  const auto op = [&](std::string_view id) { return plan.find(id).value(); };
  EXPECT_EQ(plan.compute(op("forward@gpu0")).flops, 1e9);
  EXPECT_EQ(plan.compute(op("forward@gpu0")).dtype, Dtype::kBf16);
  ASSERT_THAT(plan.memory_effects(op("forward@gpu0")), SizeIs(2));
  EXPECT_EQ(plan.memory_effects(op("forward@gpu0"))[1].bytes(), Bytes{-1000});
  EXPECT_EQ(plan.kernel(op("gemm@gpu0"))->n, 256U);
  EXPECT_EQ(plan.priority(op("gemm@gpu0")), -2);
  EXPECT_EQ(plan.kernel(op("layer@gpu1"))->layer, "fc1");
  EXPECT_EQ(plan.kernel(op("update@gpu1"))->layer_index, 3U);
  EXPECT_EQ(plan.copy(op("copy")).bytes, Bytes{25'000'000});
  EXPECT_THAT(plan.predecessors(op("copy")), ElementsAre(op("load@host")));
  EXPECT_EQ(plan.message(op("s@gpu0")).partner, op("r@gpu1"));
  EXPECT_EQ(plan.algorithm_name(plan.shape(op("grads@gpu0"))), "ring");
  EXPECT_EQ(plan.collective(op("grads@gpu0")).instance, plan.collective(op("other")).instance);
  EXPECT_EQ(plan.device_name(plan.shape(op("weights@gpu1")).root), "gpu0");
  EXPECT_EQ(plan.duration(op("load@host")), Time{2'000'000'000});
  EXPECT_EQ(plan.stream_name(plan.stream(op("copy"))), "copy");
  EXPECT_EQ(plan.stream_name(plan.stream(op("s@gpu0"))), "comm");
  EXPECT_EQ(plan.stream_name(plan.stream(op("grads@gpu0"))), "nccl");
}

TEST(LoadPlan, TopLevelKeysMayComeInAnyOrder) {
  const Loaded loaded = load(R"({"ops": [
      {"id": "a@gpu0", "kind": "collective", "collective": "all_reduce", "bytes": 1, "group": "g", "device": "gpu0"},
      {"id": "a@gpu1", "kind": "collective", "collective": "all_reduce", "bytes": 1, "group": "g", "device": "gpu1"}],
      "groups": {"g": ["gpu1", "gpu0"]}, "devices": ["gpu1", "gpu0"], "schema": "twinrun/plan/1"})");
  EXPECT_THAT(loaded.complaints(), ElementsAre());
}

TEST(LoadPlan, DevicesAreCollectedWhenNotListed) {
  const Loaded loaded = load(
      R"({"schema": "twinrun/plan/1", "ops": [{"id": "a", "kind": "marker", "device": "x"}]})");
  EXPECT_THAT(loaded.complaints(), ElementsAre());
  EXPECT_EQ(loaded.plan->device_name(DeviceId{0}), "x");
}

TEST(LoadPlan, AfterMayNameLaterOpsAndKeepsItsOrder) {
  const Loaded loaded = load_ops(R"(
      {"id": "a", "kind": "marker", "device": "gpu0", "stream": "x"},
      {"id": "b", "kind": "marker", "device": "gpu0", "after": ["c", "a"]},
      {"id": "c", "kind": "marker", "device": "gpu1"})");
  EXPECT_THAT(loaded.complaints(), ElementsAre());
  EXPECT_THAT(loaded.plan->predecessors(OpId{1}), ElementsAre(OpId{2}, OpId{0}));
}

TEST(LoadPlan, AllComplaintsOfAFileComeAtOnce) {
  const Loaded loaded = load_ops(R"(
      {"id": "a", "kind": "compute", "device": "gpu0", "flopz": 1},
      {"id": "b", "kind": "copy", "device": "gpu0", "bytes": -1, "to": 7},
      {"id": "c", "kind": "marker", "device": "gpu0", "after": ["nobody"]},
      {"kind": "marker", "device": "gpu0"},
      {"id": "e", "kind": "jump", "device": "gpu0"},
      3)");
  EXPECT_EQ(loaded.plan, std::nullopt);
  EXPECT_THAT(
      loaded.complaints(),
      ElementsAre("E0205 /ops/0/flopz", "E0203 /ops/1/bytes", "E0202 /ops/1/to", "E0201 /ops/3",
                  "E0204 /ops/4/kind", "E0202 /ops/5", "E0412 /ops/2/after/0"));
  EXPECT_THAT(loaded.diagnostics.all()[0].help, HasSubstr("did you mean \"flops\"?"));
}

TEST(LoadPlan, AKeyOfAnotherKindIsUnknown) {
  EXPECT_THAT(
      load_ops(R"({"id": "a", "kind": "marker", "device": "gpu0", "flops": 1})").complaints(),
      ElementsAre("E0205 /ops/0/flops"));
}

TEST(LoadPlan, UnknownIdsAreSuggested) {
  const Loaded loaded = load_ops(R"(
      {"id": "step0/forward@rank5", "kind": "marker", "device": "gpu0"},
      {"id": "b", "kind": "marker", "device": "gpu0", "after": ["step0/foward@rank5"]})");
  EXPECT_THAT(loaded.complaints(), ElementsAre("E0412 /ops/1/after/0"));
  EXPECT_EQ(loaded.diagnostics.all()[0].help, "did you mean \"step0/forward@rank5\"?");
  EXPECT_TRUE(loaded.plan);
}

TEST(LoadPlan, DoubledIdsAreRefusedAtTheSecond) {
  EXPECT_THAT(load_ops(R"({"id": "a", "kind": "marker", "device": "gpu0"},
                          {"id": "a", "kind": "marker", "device": "gpu0"})")
                  .complaints(),
              ElementsAre("E0411 /ops/1/id"));
}

TEST(LoadPlan, UnknownNamesAndCyclesAreReportedTogether) {
  const Loaded loaded = load_ops(R"(
      {"id": "a", "kind": "marker", "device": "gpu0", "stream": "x", "after": ["b"]},
      {"id": "b", "kind": "marker", "device": "gpu0", "stream": "y", "after": ["a", "z"]},
      {"id": "c", "kind": "marker", "device": "gpuO"})");
  EXPECT_THAT(loaded.complaints(),
              ElementsAre("E0413 /ops/2/device", "E0412 /ops/1/after/1", "E0401 /ops/0/after"));
}

TEST(LoadPlan, UnknownGroupsAreSuggested) {
  const Loaded loaded = load_ops(
      R"({"id": "a", "kind": "collective", "collective": "barrier", "device": "gpu0", "group": "wolrd"})");
  EXPECT_THAT(loaded.complaints(), ElementsAre("E0414 /ops/0/group"));
  EXPECT_THAT(loaded.diagnostics.all()[0].help, HasSubstr("did you mean \"world\"?"));
}

TEST(LoadPlan, TheTopLevelIsChecked) {
  EXPECT_THAT(load("[]").complaints(), ElementsAre("E0202 "));
  EXPECT_THAT(load("{}").complaints(), ElementsAre("E0201 ", "E0201 "));
  EXPECT_THAT(load(R"({"schema": "twinrun/job/1", "ops": 3, "ops": [], "opps": []})").complaints(),
              ElementsAre("E0207 /schema", "E0202 /ops", "E0105 /ops", "E0205 /opps"));
  EXPECT_THAT(load(R"({"schema": "twinrun/plan/1", "devices": ["a", "a", 1], "groups": {"g/h": 3},
                       "ops": [{"id": "a", "kind": "marker", "device": "a"}]})")
                  .complaints(),
              ElementsAre("E0415 /devices/1", "E0202 /devices/2", "E0202 /groups/g~1h"));
}

TEST(LoadPlan, SyntaxErrorsEndTheReading) {
  for (const std::string text : {"", "{", R"({"schema": "twinrun/plan/1", "ops": [{"id": "a")",
                                 R"({"ops": [NaN]})", R"({"ops": []} x)", "{\"name\": \"\xFF\"}"}) {
    const Loaded loaded = load(text);
    EXPECT_EQ(loaded.plan, std::nullopt) << text;
    ASSERT_FALSE(loaded.diagnostics.all().empty()) << text;
    EXPECT_EQ(loaded.diagnostics.all().back().code, "E0102") << text;
  }
}

TEST(LoadPlan, NumbersOutOfRangeAreRefused) {
  const auto complaints = [](const std::string& member) {
    return load_ops(R"({"id": "a", "kind": "compute", "device": "gpu0", )" + member + "}")
        .complaints();
  };
  EXPECT_THAT(complaints(R"("flops": -1)"), ElementsAre("E0203 /ops/0/flops"));
  EXPECT_THAT(complaints(R"("bytes": 1e30)"), ElementsAre("E0203 /ops/0/bytes"));
  EXPECT_THAT(complaints(R"("duration": "soon")"), ElementsAre("E0206 /ops/0/duration"));
  EXPECT_THAT(complaints(R"("duration": -0.5)"), ElementsAre("E0203 /ops/0/duration"));
  EXPECT_THAT(complaints(R"("priority": 40000)"), ElementsAre("E0203 /ops/0/priority"));
  EXPECT_THAT(complaints(R"("kernel": {"kind": "gemm", "m": 0, "n": 1, "k": 1})"),
              ElementsAre("E0203 /ops/0/kernel/m"));
  EXPECT_THAT(complaints(R"("memory": [{"part": "heap", "bytes": 1}])"),
              ElementsAre("E0204 /ops/0/memory/0/part"));
  EXPECT_THAT(complaints(R"("memory": [{"part": "buffers", "bytes": 9000000000000000000}])"),
              ElementsAre("E0203 /ops/0/memory/0/bytes"));
  EXPECT_THAT(complaints(R"("memory": [{"part": "buffers", "bytes": "-x"}])"),
              ElementsAre("E0206 /ops/0/memory/0/bytes"));
}

TEST(LoadPlan, ARootWhereNoneBelongsIsRefused) {
  EXPECT_THAT(load_ops(R"({"id": "a@gpu0", "kind": "collective", "collective": "all_reduce",
                           "device": "gpu0", "group": "world", "bytes": 1, "root": "gpu0"})")
                  .complaints(),
              ElementsAre("E0203 /ops/0/root"));
}

TEST(LoadPlan, TheTopologyIsAskedForEveryDevice) {
  Diagnostics diagnostics;
  load_valid_plan(
      Source::of_text("plan.json", kExamplePlan),
      [](std::string_view name) { return name != "cpu0"; }, diagnostics);
  ASSERT_EQ(diagnostics.error_count(), 1U);
  EXPECT_EQ(diagnostics.all()[0].code, "E0413");
  EXPECT_EQ(diagnostics.all()[0].place.pointer, "/ops/13/device");
  EXPECT_EQ(diagnostics.all()[0].place.file, "plan.json");
}

}  // namespace
}  // namespace twinrun
