#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/io/embedded.h"
#include "core/io/load_case.h"
#include "tests/core/io/schema_checker.h"

namespace twinrun {
namespace {

using Json = nlohmann::json;

bool loader_accepts(const Json& value) {
  Diagnostics diagnostics;
  const CaseFile file = read_case(Source::of_text("case.json", value.dump()), diagnostics);
  if (!diagnostics.has_errors() && file.is_collective) {
    for (const CaseRow& row : file.rows) {
      read_case_collective(file, row, diagnostics);
    }
  }
  return !diagnostics.has_errors();
}

TEST(CaseSchema, AcceptsThePublishedCases) {
  const SchemaChecker schema("case");
  for (const EmbeddedFile& file : embedded_cases()) {
    EXPECT_EQ(schema.complaints(Json::parse(file.text)), "") << file.name;
  }
}

// Schema and loader are two descriptions of one format: what one refuses the other must, too.
TEST(CaseSchema, RefusesWhatTheLoaderRefuses) {
  const SchemaChecker schema("case");
  const Json job = Json::parse(R"({
    "schema": "twinrun/case/1", "name": "n", "table": "t", "citation": "c", "metric": "step_s",
    "steps": 1, "job": {"model": "resnet50", "topology": "cpu"},
    "rows": [{"name": "a", "measured": 1, "set": {}, "group": "g"}]})");
  const Json calls = Json::parse(R"({
    "name": "n", "table": "t", "citation": "c", "metric": "time_s",
    "collective": {"topology": "dgx-a100", "kind": "reduce", "bytes": 8, "times": 2,
                   "then": [{"kind": "broadcast", "bytes": "1KiB"}]},
    "rows": [{"name": "a", "measured": 1}]})");
  for (const Json& good : {job, calls}) {
    EXPECT_TRUE(loader_accepts(good));
    EXPECT_EQ(schema.complaints(good), "");
  }
  const auto expect_refused = [&](Json value, const char* pointer, const Json& changed) {
    value[Json::json_pointer(pointer)] = changed;
    EXPECT_FALSE(schema.accepts(value)) << pointer;
    EXPECT_FALSE(loader_accepts(value)) << pointer;
  };
  expect_refused(job, "/schema", "twinrun/job/1");
  expect_refused(job, "/metric", "time_s");
  expect_refused(job, "/metric", "seconds");
  expect_refused(job, "/steps", 0);
  expect_refused(job, "/collective", calls["collective"]);
  expect_refused(job, "/assumed", "a");
  expect_refused(job, "/assumed", Json::array({1}));
  expect_refused(job, "/rows", Json::object());
  expect_refused(job, "/rows/0/measured", 0);
  expect_refused(job, "/rows/0/measured", "1");
  expect_refused(job, "/rows/0/set", Json::array());
  expect_refused(job, "/rows/0/groups", "g");
  expect_refused(job, "/extra", 1);
  expect_refused(calls, "/metric", "step_s");
  expect_refused(calls, "/collective/kind", "allreduce");
  expect_refused(calls, "/collective/bytes", -1);
  expect_refused(calls, "/collective/times", 0);
  expect_refused(calls, "/collective/gpus_per_process", 0);
  expect_refused(calls, "/collective/nodes", 4);
  expect_refused(calls, "/collective/then/0/kind", "copy");
  expect_refused(calls, "/collective/then/0/root", 0);
}

}  // namespace
}  // namespace twinrun
