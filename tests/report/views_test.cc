// Memory, pipeline, topology and result as the page takes them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/diagnostics.h"
#include "core/io/topology_argument.h"
#include "core/topology/build_topology.h"
#include "report/headline.h"
#include "report/memory_data.h"
#include "report/pipeline_data.h"
#include "report/result_data.h"
#include "report/topology_data.h"
#include "tests/report/small_runs.h"

namespace twinrun::report {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::HasSubstr;
using ::testing::Not;

// Two devices take 100 bytes for good; the first another 50 from 2 us to 3 us.
TEST(MemoryData, PeaksAreExactAndEqualCurvesShared) {
  PlanBuilder builder;
  std::vector<OpTimes> times;
  for (const char* const name : {"gpu0", "gpu1", "gpu2"}) {
    const DeviceId device = builder.add_device(name);
    const StreamId stream = builder.stream(device, "compute");
    const OpId setup = builder.add_marker(std::string("setup@") + name, stream);
    builder.add_memory_effect(setup, {MemoryPart::kParameters, {100}, MemoryWhen::kStart});
    const OpId op = builder.add_compute(std::string("step0/forward/a@") + name, stream, {});
    if (name[3] == '0') {
      builder.add_memory_effect(op, {MemoryPart::kActivations, {50}, MemoryWhen::kStart});
      builder.add_memory_effect(op, {MemoryPart::kActivations, {-50}, MemoryWhen::kEnd});
    }
    times.push_back({us(0), us(0), us(0)});
    times.push_back({us(2), us(2), us(3)});
  }
  const Plan plan = std::move(builder).finish();
  const Json memory = memory_data(plan, nullptr, {"simulated", times, {}, {}, us(1000)});
  ASSERT_EQ(memory["curves"].size(), 2U);
  EXPECT_EQ(memory["curves"][0]["devices"], Json({"gpu0"}));
  EXPECT_EQ(memory["curves"][0]["peak_bytes"], 150);
  EXPECT_EQ(memory["curves"][0]["capacity_bytes"], nullptr);
  EXPECT_EQ(memory["curves"][1]["devices"], Json({"gpu1", "gpu2"}));
  EXPECT_EQ(memory["curves"][1]["peak_bytes"], 100);
  EXPECT_EQ(memory["curves"][1]["times_ns"].back(), 1'000'000);
}

// The two-stage pipeline with two micro-batches, by hand:
//   gpu0  F0 F1 .. B0 .. B1
//   gpu1  .. F0 B0 F1 B1
TEST(PipelineData, BlocksAreStretchesOfOneMicroBatch) {
  PlanBuilder builder;
  const DeviceId gpu0 = builder.add_device("gpu0");
  const DeviceId gpu1 = builder.add_device("gpu1");
  const StreamId first = builder.stream(gpu0, "compute");
  const StreamId second = builder.stream(gpu1, "compute");
  std::vector<OpTimes> times;
  const auto add = [&](const char* name, StreamId stream, std::int64_t start) {
    builder.add_compute(name, stream, {});
    times.push_back({us(start), us(start), us(start + 1)});
  };
  add("step0/forward/a/mb0@rank0", first, 0);
  add("step0/forward/b/mb0@rank0", first, 1);  // a second layer: the same block
  add("step0/forward/a/mb1@rank0", first, 2);
  add("step0/forward/c/mb0@rank1", second, 2);
  add("step0/backward/c/mb0@rank1", second, 3);
  add("step0/backward/a/mb0@rank0", first, 4);
  builder.add_send("step0/forward/send/mb0@rank0", builder.stream(gpu0, "send"), {gpu1, {1}});
  builder.add_recv("step0/forward/recv/mb0@rank1", builder.stream(gpu1, "recv"), {gpu0, {1}});
  times.insert(times.end(), 2, {us(2), us(2), us(2)});
  const Plan plan = std::move(builder).finish();
  const Json pipeline = pipeline_data(plan, {"simulated", times, {}, {}, us(5)});
  EXPECT_EQ(pipeline["rows"][0]["blocks"],
            Json({{0, 0, 0, 2000}, {0, 1, 2000, 1000}, {1, 0, 4000, 1000}}));
  EXPECT_EQ(pipeline["rows"][1]["blocks"], Json({{0, 0, 2000, 1000}, {1, 0, 3000, 1000}}));
  EXPECT_EQ(pipeline["duration_ns"], 5000);
}

TEST(PipelineData, IsNullWithoutAPipeline) {
  const SmallRun run = alike_ranks(2, 1);
  EXPECT_EQ(pipeline_data(run.plan, run.trace), nullptr);
}

Topology topology_of(const std::string& argument) {
  Diagnostics diagnostics;
  const TopologySpec spec = read_topology_argument(argument, diagnostics);
  Topology topology = build_topology(spec, diagnostics);
  EXPECT_FALSE(diagnostics.has_errors());
  return topology;
}

TEST(TopologyData, LinksCarryWhatTheResultSays) {
  const Topology topology = topology_of("pcie-2x2080ti");
  Json links = Json::array();
  for (std::size_t i = 0; i < topology.link_count(); ++i) {
    links.push_back({{"bytes", 100 * (i + 1)}, {"busy_pct", i}});
  }
  const Json drawn = topology_data(topology, links);
  EXPECT_EQ(drawn["knows_use"], true);
  EXPECT_EQ(drawn["machines"], 1);
  double bytes = 0;
  for (const Json& link : drawn["details"][0]["links"]) {
    bytes += link[6][0].get<double>() + (link[7].is_null() ? 0 : link[7][0].get<double>());
  }
  const auto count = static_cast<double>(topology.link_count());
  EXPECT_EQ(bytes, 100 * count * (count + 1) / 2);
  EXPECT_EQ(drawn["busiest"][0][4], topology.link_count() - 1);
}

TEST(TopologyData, WithoutALinksListNothingIsColoured) {
  EXPECT_EQ(topology_data(topology_of("pcie-8gpu"), Json::array())["knows_use"], false);
}

// 128 machines of eight GPUs: too many boxes, and more links inside than are drawn.
TEST(TopologyData, LargeOnesSayWhatIsNotDrawn) {
  const Topology topology = topology_of("dgx-a100:nodes=128");
  const Json drawn = topology_data(topology, Json::array());
  EXPECT_EQ(drawn["machines"], 128);
  EXPECT_LT(drawn["details"].size(), 128U);
  EXPECT_THAT(drawn["left_out"].get<std::string>(), HasSubstr("of 128 machines"));
  EXPECT_THAT(drawn["left_out"].get<std::string>(), HasSubstr("The 128 of tier \"node\""));
  EXPECT_LT(drawn.dump().size(), 400'000U);
}

TEST(ResultData, NeighboursAlikeAreOneEntry) {
  const auto device = [](const char* name, int peak, const char* at) {
    return Json{{"device", name}, {"peak_bytes", peak}, {"at_op", at}};
  };
  const Json shown = result_data({{"memory",
                                   {device("gpu0", 5, "a"), device("gpu1", 5, "b"),
                                    device("gpu2", 6, "c"), device("gpu3", 5, "d")}},
                                  {"step_s", 0.25},
                                  {"links", {1, 2, 3}}});
  ASSERT_EQ(shown["memory"].size(), 3U);
  EXPECT_EQ(shown["memory"][0]["count"], 2);
  EXPECT_EQ(shown["memory"][0]["last_device"], "gpu1");
  EXPECT_EQ(shown["memory"][2]["device"], "gpu3");
  EXPECT_EQ(shown["step_s"], 0.25);
  EXPECT_FALSE(shown.contains("links"));
}

TEST(ResultData, CollectivesAreSummedByWhatTheyDo) {
  const auto reduce = [](int bytes, double seconds) {
    return Json{
        {"op", "x"}, {"kind", "all_reduce"}, {"ranks", 8}, {"bytes", bytes}, {"time_s", seconds}};
  };
  const Json shown = result_data({{"collectives", {reduce(8, 1), reduce(4, 5), reduce(8, 2)}}});
  ASSERT_EQ(shown["collectives"].size(), 2U);
  EXPECT_EQ(shown["collectives"][0]["bytes"], 4);  // most time first
  EXPECT_EQ(shown["collectives"][1]["count"], 2);
  EXPECT_EQ(shown["collectives"][1]["total_time_s"], 3);
  EXPECT_EQ(shown["collectives"][1]["mean_time_s"], 1.5);
}

TEST(Headline, SaysTheStepAndWhatOfItIsLost) {
  const Json result = {{"step_s", 0.2},
                       {"samples_per_s", 1280},
                       {"devices", 8},
                       {"scaling_efficiency_pct", 50},
                       {"t1_s", 0.1},
                       {"t2_s", 0.15},
                       {"breakdown_s", {{"compute", 0.1}, {"exposed_communication", 0.1}}}};
  EXPECT_EQ(
      headline_of_run(result),
      "A step takes 200 ms: 1280 samples/s on 8 devices, 50.0 % of 8 times one. 50 % of it is "
      "communication that nothing hides. Compute alone takes 100 ms (t1), communication "
      "alone 150 ms (t2).");
}

TEST(Headline, SaysWhoDoesNotFit) {
  const Json result = {
      {"step_s", 0.2},
      {"memory",
       {{{"device", "gpu0"}, {"peak_bytes", 1 << 20}, {"capacity_bytes", 1 << 21}, {"fits", true}},
        {{"device", "gpu1"},
         {"peak_bytes", 1 << 22},
         {"capacity_bytes", 1 << 21},
         {"fits", false}}}}};
  EXPECT_EQ(headline_of_run(result),
            "A step takes 200 ms. It does not fit: gpu1 needs 4 MiB and has 2 MiB.");
}

TEST(Headline, OfAPredictionSaysWhichWayItErred) {
  const Json simulated = {{"source", "simulated"}, {"step_s", 0.09}};
  const Json executed = {{"source", "executed"}, {"step_s", 0.1}};
  EXPECT_THAT(headline_of_two(simulated, executed),
              HasSubstr("the prediction is 10.0 % too short"));
  EXPECT_THAT(headline_of_two(simulated, simulated), HasSubstr("the same"));
  const Json slower = {{"source", "simulated"}, {"step_s", 0.1}};
  EXPECT_THAT(headline_of_two(slower, simulated), HasSubstr("the first is 11.1 % longer"));
}

TEST(Headline, OfASweepNamesTheBest) {
  const Json sweep = {
      {"points",
       {{{"set", {{"training.dtype", "fp16"}}}, {"step_s", 1}, {"fits", true}},
        {{"set", {{"training.dtype", "fp32"}}}, {"step_s", 2}, {"fits", false}},
        {{"set", {{"training.dtype", "fp8"}}}, {"error", "E"}}}},
      {"best", {{"samples_per_s", {{"set", {{"training.dtype", "fp16"}}}, {"value", 42}}}}}};
  EXPECT_EQ(
      headline_of_sweep(sweep),
      "Of 3 points, dtype = fp16 is fastest: 42 samples/s. 1 do not fit into memory. 1 cannot "
      "be carried out.");
  EXPECT_THAT(headline_of_sweep({{"points", Json::array()}, {"best", Json::object()}}),
              Not(HasSubstr("fastest")));
}

}  // namespace
}  // namespace twinrun::report
