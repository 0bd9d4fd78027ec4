#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/io/load_plan.h"
#include "core/io/save_plan.h"
#include "tests/core/io/example_plan.h"
#include "tests/core/io/schema_checker.h"

namespace twinrun {
namespace {

using nlohmann::json;

bool schema_accepts(const json& document) { return SchemaChecker("plan").accepts(document); }

bool loader_accepts(const json& document) {
  Diagnostics diagnostics;
  load_plan(Source::of_text("plan.json", document.dump()), diagnostics);
  return !diagnostics.has_errors();
}

TEST(PlanSchema, AcceptsTheExampleAndWhatWeWrite) {
  const json example = json::parse(kExamplePlan);
  EXPECT_TRUE(schema_accepts(example));
  EXPECT_TRUE(loader_accepts(example));
  Diagnostics diagnostics;
  const auto plan = load_plan(Source::of_text("plan.json", kExamplePlan), diagnostics);
  EXPECT_TRUE(schema_accepts(json::parse(plan_to_json(plan.value()))));
}

// Its own examples of ops are ops; checked inside a plan.
TEST(PlanSchema, AcceptsItsOwnExamples) {
  const json schema = SchemaChecker("plan").text();
  for (const char* kind : {"compute", "copy", "message", "collective", "host"}) {
    for (json op : schema["definitions"][kind]["examples"]) {
      op.erase("after");  // names an op of a larger plan
      const json plan = {{"schema", "twinrun/plan/1"},
                         {"groups", {{"world", {"gpu0", "gpu1"}}}},
                         {"ops", json::array({op})}};
      EXPECT_TRUE(schema_accepts(plan)) << op;
      EXPECT_TRUE(loader_accepts(plan)) << op;
    }
  }
}

struct Break {
  const char* what;
  const char* patch;  // RFC 6902, applied to the example
};

class BrokenPlan : public ::testing::TestWithParam<Break> {};

TEST_P(BrokenPlan, IsRefusedBySchemaAndLoader) {
  const json broken = json::parse(kExamplePlan).patch(json::parse(GetParam().patch));
  EXPECT_FALSE(schema_accepts(broken)) << GetParam().what;
  EXPECT_FALSE(loader_accepts(broken)) << GetParam().what;
}

const Break kBreaks[] = {
    {"NoSchema", R"([{"op": "remove", "path": "/schema"}])"},
    {"OtherSchema", R"([{"op": "replace", "path": "/schema", "value": "twinrun/plan/2"}])"},
    {"NoOps", R"([{"op": "remove", "path": "/ops"}])"},
    {"OpsIsAnObject", R"([{"op": "replace", "path": "/ops", "value": {}}])"},
    {"UnknownTopKey", R"([{"op": "add", "path": "/opps", "value": []}])"},
    {"NameIsANumber", R"([{"op": "replace", "path": "/name", "value": 3}])"},
    {"DeviceTwice", R"([{"op": "add", "path": "/devices/0", "value": "gpu1"}])"},
    {"GroupIsAString", R"([{"op": "replace", "path": "/groups/world", "value": "all"}])"},
    {"OpIsAString", R"([{"op": "add", "path": "/ops/0", "value": "x"}])"},
    {"NoId", R"([{"op": "remove", "path": "/ops/1/id"}])"},
    {"EmptyId", R"([{"op": "replace", "path": "/ops/1/id", "value": ""}])"},
    {"NoKind", R"([{"op": "remove", "path": "/ops/1/kind"}])"},
    {"UnknownKind", R"([{"op": "replace", "path": "/ops/1/kind", "value": "jump"}])"},
    {"NoDevice", R"([{"op": "remove", "path": "/ops/1/device"}])"},
    {"UnknownKey", R"([{"op": "add", "path": "/ops/1/flopz", "value": 1}])"},
    {"KeyOfAnotherKind", R"([{"op": "add", "path": "/ops/14/flops", "value": 1}])"},
    {"NegativeFlops", R"([{"op": "replace", "path": "/ops/0/flops", "value": -1}])"},
    {"NegativeBytes", R"([{"op": "replace", "path": "/ops/4/bytes", "value": -1}])"},
    {"BytesInSeconds", R"([{"op": "replace", "path": "/ops/4/bytes", "value": "3s"}])"},
    {"CopyWithoutTo", R"([{"op": "remove", "path": "/ops/4/to"}])"},
    {"SendWithoutBytes", R"([{"op": "remove", "path": "/ops/5/bytes"}])"},
    {"RecvWithoutPeer", R"([{"op": "remove", "path": "/ops/6/peer"}])"},
    {"NegativeTag", R"([{"op": "replace", "path": "/ops/5/tag", "value": -3}])"},
    {"UnknownDtype", R"([{"op": "replace", "path": "/ops/0/dtype", "value": "fp31"}])"},
    {"UnknownCollective",
     R"([{"op": "replace", "path": "/ops/7/collective", "value": "all_sum"}])"},
    {"CollectiveWithoutGroup", R"([{"op": "remove", "path": "/ops/7/group"}])"},
    {"CollectiveWithoutBytes", R"([{"op": "remove", "path": "/ops/7/bytes"}])"},
    {"GemmWithoutK", R"([{"op": "remove", "path": "/ops/1/kernel/k"}])"},
    {"GemmWithALayer", R"([{"op": "add", "path": "/ops/1/kernel/layer", "value": 1}])"},
    {"UnknownKernel", R"([{"op": "replace", "path": "/ops/1/kernel/kind", "value": "fft"}])"},
    {"LayerIsABoolean", R"([{"op": "replace", "path": "/ops/2/kernel/layer", "value": true}])"},
    {"AfterIsAString", R"([{"op": "replace", "path": "/ops/4/after", "value": "load@host"}])"},
    {"AfterHoldsANumber", R"([{"op": "replace", "path": "/ops/4/after", "value": [13]}])"},
    {"PriorityTooLarge", R"([{"op": "replace", "path": "/ops/1/priority", "value": 32768}])"},
    {"NegativeDuration", R"([{"op": "replace", "path": "/ops/13/duration", "value": -1}])"},
    {"DurationIsAWord", R"([{"op": "replace", "path": "/ops/13/duration", "value": "long"}])"},
    {"UnknownMemoryPart",
     R"([{"op": "replace", "path": "/ops/0/memory/0/part", "value": "heap"}])"},
    {"MemoryWithoutBytes", R"([{"op": "remove", "path": "/ops/0/memory/0/bytes"}])"},
    {"UnknownWhen", R"([{"op": "replace", "path": "/ops/0/memory/0/when", "value": "later"}])"},
};
INSTANTIATE_TEST_SUITE_P(Each, BrokenPlan, ::testing::ValuesIn(kBreaks), [](const auto& param) {
  return std::string(param.param.what);
});

}  // namespace
}  // namespace twinrun
