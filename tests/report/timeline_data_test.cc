#include "report/timeline_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/timeline_labels.h"
#include "tests/report/small_runs.h"
#include "tests/report/unpack_timeline.h"

namespace twinrun::report {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::HasSubstr;

constexpr std::size_t kPlenty = 10'000'000;

std::size_t bytes_of(const Json& timeline) { return timeline.dump().size(); }

TEST(TimelineData, HasEveryOpWithItsTimes) {
  const SmallRun run = alike_ranks(2, 2);
  const auto ops = unpack_timeline(timeline_data(run.plan, run.trace, kPlenty));
  ASSERT_EQ(ops.size(), run.plan.size());
  const UnpackedOp forward = {0, 11'000, 15'000, true, "forward"};
  const UnpackedOp backward = {0, 15'000, 19'000, true, "backward"};
  const UnpackedOp reduce = {1'000, 20'000, 22'000, true, "collective"};
  EXPECT_EQ(ops.at("step1/forward/a@rank0"), forward);
  EXPECT_EQ(ops.at("step1/backward/a@rank0"), backward);
  EXPECT_EQ(ops.at("step1/all_reduce/a@rank0"), reduce);
  EXPECT_EQ(ops.at("step0/forward/a@rank1").start_ns, 0);
  EXPECT_FALSE(ops.at("step0/forward/a@rank1").is_on_path);
}

// Of 64 ranks that are alike all but one cost a few bytes each.
TEST(TimelineData, RanksAndStepsThatAreAlikeShareTheirBytes) {
  const SmallRun one = alike_ranks(1, 1);
  const SmallRun many = alike_ranks(64, 3);
  const Json few = timeline_data(one.plan, one.trace, kPlenty);
  const Json all = timeline_data(many.plan, many.trace, kPlenty);
  EXPECT_EQ(all["labels"].size(), 3U);
  EXPECT_EQ(few["sequences"].size(), all["sequences"].size());
  EXPECT_EQ(all["ops"], 64 * 3 * 3);
  EXPECT_EQ(all["left_out"], "");
}

TEST(TimelineData, MicroBatchesShareALabel) {
  PlanBuilder builder;
  const StreamId stream = builder.stream(builder.add_device("gpu0"), "compute");
  std::vector<OpTimes> times;
  for (int i = 0; i < 5; ++i) {
    builder.add_compute("step0/forward/a/mb" + std::to_string(7 - i) + "@rank0", stream, {});
    times.push_back({us(i), us(i), us(i + 1)});
  }
  const Plan plan = std::move(builder).finish();
  const Json timeline = timeline_data(plan, {"simulated", times, {}, {}, us(5)}, kPlenty);
  EXPECT_EQ(timeline["labels"].size(), 1U);
  EXPECT_EQ(timeline["labels"][0][0], "forward/a/mb#@");
  EXPECT_EQ(unpack_timeline(timeline).at("step0/forward/a/mb4@rank0").start_ns, 3000);
}

// Names that no convention made, and one that looks like the sign for a micro-batch.
TEST(TimelineData, AnyNameComesBack) {
  PlanBuilder builder;
  const StreamId stream = builder.stream(builder.add_device("gpu0"), "compute");
  const std::vector<std::string> names = {"a",           "step0/b@x@rank0", "step0/c/mb#/mb3@rank0",
                                          "step1/é <b>", "mbx/mb",          "step2/d/mb2x@rank1"};
  std::vector<OpTimes> times;
  for (const std::string& name : names) {
    const Time start = us(static_cast<std::int64_t>(times.size()));
    builder.add_compute(name, stream, {});
    times.push_back({start, start, start + us(1)});
  }
  const Plan plan = std::move(builder).finish();
  const auto ops =
      unpack_timeline(timeline_data(plan, {"simulated", times, {}, {}, us(6)}, kPlenty));
  for (const std::string& name : names) {
    EXPECT_TRUE(ops.contains(name)) << name;
  }
}

TEST(TimelineData, OpsThatNeverRanAreNotShown) {
  SmallRun run = alike_ranks(1, 2);
  run.trace.ops[5] = {us(0), us(1), us(0)};
  const auto ops = unpack_timeline(timeline_data(run.plan, run.trace, kPlenty));
  EXPECT_EQ(ops.size(), 5U);
  EXPECT_FALSE(ops.contains("step1/all_reduce/a@rank0"));
}

// A run in which no two ops take equally long, so that nothing can be shared.
SmallRun uneven_ranks(std::size_t ranks, std::int64_t steps) {
  SmallRun run = alike_ranks(ranks, steps);
  std::int64_t extra = 1;
  for (OpTimes& times : run.trace.ops) {
    extra = extra * 16807 % 2147483647;
    times.end = times.end - Time{extra % 900'000};
  }
  return run;
}

TEST(TimelineData, LeavesOutEarlyStepsFirst) {
  const SmallRun run = uneven_ranks(4, 10);
  const std::size_t whole = bytes_of(timeline_data(run.plan, run.trace, kPlenty));
  const Json part = timeline_data(run.plan, run.trace, whole / 2);
  EXPECT_LE(bytes_of(part), whole * 6 / 10);
  EXPECT_THAT(part["left_out"].get<std::string>(), HasSubstr("of 10 steps"));
  EXPECT_EQ(part["devices"].size(), 4U);
  EXPECT_EQ(part["steps"].back()[0], 9);
  const auto ops = unpack_timeline(part);
  EXPECT_TRUE(ops.contains("step9/forward/a@rank3"));
  EXPECT_FALSE(ops.contains("step0/forward/a@rank3"));
}

TEST(TimelineData, ThenDevicesThenTime) {
  const SmallRun run = uneven_ranks(64, 2);
  const std::size_t whole = bytes_of(timeline_data(run.plan, run.trace, kPlenty));
  const Json fewer = timeline_data(run.plan, run.trace, whole / 8);
  EXPECT_THAT(fewer["left_out"].get<std::string>(), HasSubstr("the last of 2 steps"));
  EXPECT_THAT(fewer["left_out"].get<std::string>(), HasSubstr("of 64 devices"));
  EXPECT_LT(fewer["devices"].size(), 64U);
  const Json least = timeline_data(run.plan, run.trace, 1);
  EXPECT_EQ(least["devices"].size(), 1U);
  EXPECT_THAT(least["left_out"].get<std::string>(), HasSubstr("what started before"));
  EXPECT_LE(least["ops"].get<int>(), 1);
}

TEST(TimelineData, IsTheSameEveryTime) {
  const SmallRun run = uneven_ranks(8, 3);
  EXPECT_EQ(timeline_data(run.plan, run.trace, 3000).dump(),
            timeline_data(run.plan, run.trace, 3000).dump());
}

TEST(MicroBatch, IsTheNumberOfItsSegment) {
  EXPECT_EQ(micro_batch_of("step0/forward/conv1/mb3@rank0"), 3);
  EXPECT_EQ(micro_batch_of("step0/update/mb12/x"), 12);
  EXPECT_EQ(micro_batch_of("step0/mbps/mb7"), 7);
  EXPECT_EQ(micro_batch_of("step0/forward/conv1@rank0"), -1);
  EXPECT_EQ(micro_batch_of("step0/mb3x@rank0"), -1);
}

}  // namespace
}  // namespace twinrun::report
