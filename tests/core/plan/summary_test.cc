#include "core/plan/summary.h"

#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/plan/plan_builder.h"

namespace twinrun {
namespace {

using ::testing::ElementsAre;

//   gpu0 compute: forward(2 ps)           update(1 ps)
//   gpu0 comm:            sum(10 ps)
//   gpu1 compute: forward(5 ps)
//   gpu1 comm:            sum(10 ps) copy
Plan small_plan() {
  PlanBuilder b("small");
  const DeviceId gpu0 = b.add_device("gpu0");
  const DeviceId gpu1 = b.add_device("gpu1");
  const GroupId world = b.add_group("world", std::vector{gpu0, gpu1});
  const OpId f0 = b.add_compute("f@0", b.stream(gpu0, "compute"), {.flops = 100});
  const OpId f1 = b.add_compute("f@1", b.stream(gpu1, "compute"), {.flops = 300});
  const OpId s0 = b.add_collective("s@0", b.stream(gpu0, "comm"), {.group = world, .bytes = {8}});
  const OpId s1 = b.add_collective("s@1", b.stream(gpu1, "comm"), {.group = world, .bytes = {8}});
  const OpId copy = b.add_copy("copy", b.stream(gpu1, "comm"), gpu0, {5});
  const OpId update = b.add_compute("u@0", b.stream(gpu0, "compute"), {.flops = 10});
  b.depend(s0, f0);
  b.depend(s1, f1);
  b.depend(update, s0);
  b.set_duration(f0, Time{2});
  b.set_duration(f1, Time{5});
  b.set_duration(s0, Time{10});
  b.set_duration(s1, Time{10});
  b.set_duration(update, Time{1});
  b.set_priority(copy, 1);
  return std::move(b).finish();
}

TEST(Summary, CountsWhatIsThere) {
  const PlanSummary summary = summarize(small_plan());
  EXPECT_EQ(summary.name, "small");
  EXPECT_EQ(summary.ops, 6U);
  EXPECT_EQ(summary.edges, 3U);
  EXPECT_EQ(summary.devices, 2U);
  EXPECT_EQ(summary.streams, 4U);
  EXPECT_EQ(summary.groups, 1U);
  EXPECT_EQ(summary.collectives, 1U);
  EXPECT_THAT(summary.by_kind, ElementsAre(3, 1, 0, 0, 2, 0, 0));
  EXPECT_EQ(summary.with_duration, 5U);
  EXPECT_EQ(summary.never_start, 0U);
}

TEST(Summary, LevelsAreForwardThenSumThenTheRest) {
  const PlanSummary summary = summarize(small_plan());
  EXPECT_EQ(summary.levels, 3U);
  EXPECT_EQ(summary.width, 2U);
}

TEST(Summary, CriticalPathsGoThroughTheSlowerRank) {
  const Plan plan = small_plan();
  const PlanSummary summary = summarize(plan);
  EXPECT_EQ(summary.critical_by_count.ops, 3U);
  EXPECT_EQ(summary.critical_by_duration.given_time, Time{16});  // 5 + 10 + 1
  std::vector<std::string_view> ids;
  for (const OpId op : summary.critical_by_duration.path) {
    ids.push_back(plan.id(op));
  }
  EXPECT_THAT(ids, ElementsAre("f@1", "s@0", "u@0"));
}

TEST(Summary, AddsUpTheLoadOfEachDevice) {
  const PlanSummary summary = summarize(small_plan());
  ASSERT_EQ(summary.loads.size(), 2U);
  EXPECT_EQ(summary.loads[0].name, "gpu0");
  EXPECT_EQ(summary.loads[0].ops, 3U);
  EXPECT_EQ(summary.loads[0].flops, 110);
  EXPECT_EQ(summary.loads[0].bytes_sent, 8);
  EXPECT_EQ(summary.loads[0].given_time, Time{13});
  EXPECT_EQ(summary.loads[1].flops, 300);
  EXPECT_EQ(summary.loads[1].bytes_sent, 13);
  EXPECT_EQ(summary.loads[1].given_time, Time{15});
}

TEST(Summary, OfAnEmptyPlanIsAllZero) {
  const PlanSummary summary = summarize(PlanBuilder().finish());
  EXPECT_EQ(summary.ops, 0U);
  EXPECT_EQ(summary.width, 0U);
  EXPECT_EQ(summary.levels, 0U);
  EXPECT_TRUE(summary.critical_by_count.path.empty());
}

TEST(Summary, SaysHowManyOpsNeverStart) {
  PlanBuilder b;
  const StreamId stream = b.stream(b.add_device("gpu0"), "compute");
  const OpId first = b.add_marker("first", stream);
  const OpId second = b.add_marker("second", stream);
  b.depend(first, second);
  EXPECT_EQ(summarize(std::move(b).finish()).never_start, 2U);
}

}  // namespace
}  // namespace twinrun
