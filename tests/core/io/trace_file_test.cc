#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/io/load_trace.h"
#include "core/io/save_trace.h"
#include "tests/core/io/schema_checker.h"
#include "tests/core/trace/example_runs.h"

namespace twinrun {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct LoadedTrace {
  std::optional<Trace> trace;
  Diagnostics diagnostics;

  [[nodiscard]] std::vector<std::string> complaints() const {
    std::vector<std::string> all;
    for (const Diagnostic& diagnostic : diagnostics.all()) {
      all.push_back(diagnostic.code + " " + diagnostic.place.pointer);
    }
    return all;
  }
};

LoadedTrace load(const std::string& text, const Plan& plan) {
  LoadedTrace loaded;
  loaded.trace = load_trace(Source::of_text("trace.json", text), plan, loaded.diagnostics);
  return loaded;
}

void expect_same(const Trace& read, const Trace& written) {
  EXPECT_EQ(read.source, written.source);
  EXPECT_EQ(read.failure, written.failure);
  EXPECT_EQ(read.makespan, written.makespan);
  EXPECT_EQ(read.ops, written.ops);
  EXPECT_EQ(read.collectives, written.collectives);
  EXPECT_EQ(read.links, written.links);
}

TEST(TraceFile, WriteReadWriteIsByteIdenticalAndNothingIsLost) {
  ExampleRun run = two_steps();
  run.trace.failure = "rank 1 \"died\"\n\xC3\xA4";
  run.trace.ops[0].end.ps = 20'000'000'000'001;    // no double of microseconds has this
  run.trace.links[0].bytes = 4000.125;             // a share of a message
  run.trace.ops[5] = {Time{}, Time{0}, Time{-1}};  // never ran
  const std::string text = trace_to_json(run.plan, run.trace);
  const LoadedTrace loaded = load(text, run.plan);
  ASSERT_TRUE(loaded.trace) << text;
  EXPECT_THAT(loaded.complaints(), IsEmpty());
  expect_same(*loaded.trace, run.trace);
  EXPECT_EQ(trace_to_json(run.plan, *loaded.trace), text);
}

TEST(TraceFile, AnyRunComesBack) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    ExampleRun run = random_run(seed, seed % 2 == 0, 300);
    for (std::size_t i = 0; i < run.plan.instance_count(); ++i) {
      run.trace.collectives.push_back(
          {id_at<InstanceId>(i), i % 3 == 0 ? "ring" : "tree", i % 2 == 0 ? "LL" : "", "", 0});
    }
    const std::string text = trace_to_json(run.plan, run.trace);
    const LoadedTrace loaded = load(text, run.plan);
    ASSERT_TRUE(loaded.trace);
    expect_same(*loaded.trace, run.trace);
    EXPECT_EQ(trace_to_json(run.plan, *loaded.trace), text);
  }
}

TEST(TraceFile, SchemaAcceptsWhatWeWrite) {
  ExampleRun run = two_steps();
  run.trace.failure = "interrupted";
  EXPECT_TRUE(SchemaChecker("trace").accepts(json::parse(trace_to_json(run.plan, run.trace))));
}

// FNV-1a's published vectors: the empty text, and (with the zero behind) what "a\0" gives when
// computed by hand from "a" = af63dc4c8601ec8c: times the prime, modulo 2^64.
TEST(TraceFile, FingerprintIsFnv) {
  EXPECT_EQ(plan_fingerprint(PlanBuilder("").finish()), "cbf29ce484222325");
  PlanBuilder one("");
  one.add_marker("a", one.stream(one.add_device("gpu0"), "compute"));
  EXPECT_EQ(plan_fingerprint(std::move(one).finish()), "089be207b544f1e4");
}

TEST(TraceFile, OpsBeyondTheBudgetAreLeftOutAndSaidSo) {
  const ExampleRun run = two_steps();
  std::string text;
  const std::int64_t left_out =
      save_trace(run.plan, run.trace, 4, [&](std::string_view chunk) { text += chunk; });
  EXPECT_EQ(left_out, 5);
  const LoadedTrace loaded = load(text, run.plan);
  ASSERT_TRUE(loaded.trace);
  EXPECT_THAT(loaded.complaints(), ElementsAre("W0801 /ops_left_out"));
  ASSERT_EQ(loaded.trace->ops.size(), run.plan.size());
  EXPECT_EQ(loaded.trace->ops[3], run.trace.ops[3]);
  EXPECT_LT(loaded.trace->ops[4].end, loaded.trace->ops[4].start);
}

TEST(TraceFile, ComesInPieces) {
  const ExampleRun run = random_run(1, true, 20'000);
  std::size_t pieces = 0;
  std::size_t largest = 0;
  save_trace(run.plan, run.trace, kMostOpsInTraceFile, [&](std::string_view chunk) {
    ++pieces;
    largest = std::max(largest, chunk.size());
  });
  EXPECT_GT(pieces, 5U);
  EXPECT_LT(largest, std::size_t{1} << 17);
}

TEST(TraceFile, OfAnotherPlanIsRefused) {
  const ExampleRun run = two_steps();
  const std::string text = trace_to_json(run.plan, run.trace);
  PlanBuilder other("other");
  const StreamId stream = other.stream(other.add_device("gpu0"), "compute");
  for (std::size_t i = 0; i < run.plan.size(); ++i) {
    other.add_marker("op" + std::to_string(i), stream);
  }
  EXPECT_THAT(load(text, std::move(other).finish()).complaints(),
              ElementsAre("E0801 /plan/ids", "E0803 /collectives"));
  EXPECT_THAT(load(text, random_run(1, true, 10).plan).complaints(),
              ::testing::Contains("E0801 /plan/ops"));
}

TEST(TraceFile, IsToldFromOtherFiles) {
  const ExampleRun run = two_steps();
  EXPECT_TRUE(is_trace(Source::of_text("t", trace_to_json(run.plan, run.trace))));
  EXPECT_FALSE(is_trace(Source::of_text("t", R"({"schema": "twinrun/plan/1"})")));
  EXPECT_FALSE(is_trace(Source::of_text("t", "")));
  EXPECT_FALSE(is_trace(Source::of_text("t", "[1]")));
}

// Cut anywhere: never a trace, never a crash.
TEST(TraceFile, CutShortIsRefused) {
  const ExampleRun run = two_steps();
  const std::string text = trace_to_json(run.plan, run.trace);
  for (std::size_t size = 0; size + 2 < text.size(); ++size) {
    EXPECT_FALSE(load(text.substr(0, size), run.plan).trace) << size;
  }
}

struct Break {
  const char* what;
  const char* patch;      // RFC 6902, applied to the example
  const char* complaint;  // code and pointer
  bool schema_sees = true;
};

class BrokenTrace : public ::testing::TestWithParam<Break> {};

TEST_P(BrokenTrace, IsRefusedBySchemaAndLoader) {
  const ExampleRun run = two_steps();
  const json whole = json::parse(trace_to_json(run.plan, run.trace));
  const json broken = whole.patch(json::parse(GetParam().patch));
  EXPECT_THAT(load(broken.dump(), run.plan).complaints(),
              ::testing::Contains(GetParam().complaint));
  EXPECT_FALSE(load(broken.dump(), run.plan).trace);
  EXPECT_NE(SchemaChecker("trace").accepts(broken), GetParam().schema_sees);
}

const Break kBreaks[] = {
    {"NoSchema", R"([{"op": "remove", "path": "/schema"}])", "E0201 "},
    {"OtherSchema", R"([{"op": "replace", "path": "/schema", "value": "twinrun/plan/1"}])",
     "E0207 /schema"},
    {"NoPlan", R"([{"op": "remove", "path": "/plan"}])", "E0201 "},
    {"PlanWithoutIds", R"([{"op": "remove", "path": "/plan/ids"}])", "E0201 /plan"},
    {"UnknownKey", R"([{"op": "add", "path": "/opps", "value": 1}])", "E0205 /opps"},
    {"NoOps", R"([{"op": "remove", "path": "/ops"}])", "E0201 "},
    {"OpsIsAnObject", R"([{"op": "replace", "path": "/ops", "value": {}}])", "E0202 /ops"},
    {"OpIsANumber", R"([{"op": "replace", "path": "/ops/3", "value": 7}])", "E0202 /ops/3"},
    {"TwoTimes", R"([{"op": "replace", "path": "/ops/3", "value": [1, 2]}])", "E0802 /ops/3"},
    {"FourTimes", R"([{"op": "replace", "path": "/ops/3", "value": [1, 2, 3, 4]}])",
     "E0802 /ops/3"},
    {"Fraction", R"([{"op": "replace", "path": "/ops/3/2", "value": 1.5}])", "E0802 /ops/3"},
    {"NegativeStart", R"([{"op": "replace", "path": "/ops/3/1", "value": -5}])", "E0802 /ops/3"},
    {"TooLate", R"([{"op": "replace", "path": "/ops/3/2", "value": 9223372036854775807}])",
     "E0802 /ops/3"},
    {"Nested", R"([{"op": "replace", "path": "/ops/3/0", "value": [[1], {}]}])", "E0802 /ops/3"},
    {"OpMissing", R"([{"op": "remove", "path": "/ops/8"}])", "E0803 /ops", false},
    {"OpTooMany", R"([{"op": "add", "path": "/ops/0", "value": [0, 0, 1]}])", "E0803 /ops", false},
    {"NegativeMakespan", R"([{"op": "replace", "path": "/makespan_ps", "value": -1}])",
     "E0202 /makespan_ps"},
    {"UnknownWay", R"([{"op": "replace", "path": "/collectives/0", "value": 1}])",
     "E0804 /collectives/0", false},
    {"NegativeWay", R"([{"op": "replace", "path": "/collectives/0", "value": -1}])",
     "E0804 /collectives/0"},
    {"WayIsAWord", R"([{"op": "replace", "path": "/collectives/0", "value": "ring"}])",
     "E0202 /collectives/0"},
    {"CollectiveTooMany", R"([{"op": "add", "path": "/collectives/0", "value": 0}])",
     "E0803 /collectives", false},
    {"WayWithoutAlgorithm", R"([{"op": "remove", "path": "/collective_ways/0/algorithm"}])",
     "E0201 /collective_ways/0"},
    {"LinkWithoutName", R"([{"op": "remove", "path": "/links/1/link"}])", "E0201 /links/1"},
    {"NegativeBytes", R"([{"op": "replace", "path": "/links/1/bytes", "value": -4}])",
     "E0203 /links/1/bytes"},
};
INSTANTIATE_TEST_SUITE_P(Each, BrokenTrace, ::testing::ValuesIn(kBreaks), [](const auto& param) {
  return std::string(param.param.what);
});

}  // namespace
}  // namespace twinrun
