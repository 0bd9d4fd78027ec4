#include "core/trace/trace_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/plan/plan_builder.h"

namespace twinrun {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

Trace trace_of_starts(const std::vector<std::int64_t>& starts_us) {
  Trace trace{"executed", {}, {}, {}, {}};
  for (const std::int64_t start : starts_us) {
    const Time begin = microseconds(static_cast<double>(start));
    trace.ops.push_back({begin, begin, begin + microseconds(1)});
    trace.makespan = std::max(trace.makespan, trace.ops.back().end);
  }
  return trace;
}

// Streams a and b of gpu0 in turn, with one op of gpu1 between them.
Plan two_streams() {
  PlanBuilder builder;
  const DeviceId gpu0 = builder.add_device("gpu0");
  const StreamId a = builder.stream(gpu0, "a");
  const StreamId b = builder.stream(gpu0, "b");
  const StreamId other = builder.stream(builder.add_device("gpu1"), "a");
  builder.add_compute("step0/a0", a, {});
  builder.add_compute("step0/b0", b, {});
  builder.add_compute("step1/x", other, {});
  builder.add_compute("step1/a1", a, {});
  builder.add_compute("step0/b1", b, {});
  return std::move(builder).finish();
}

TEST(TraceIndex, OrdersTheOpsOfADeviceByStartThenByThePlan) {
  const Plan plan = two_streams();
  const Trace trace = trace_of_starts({0, 4, 1, 4, 6});
  const TraceIndex index(plan, trace);
  EXPECT_THAT(index.ops_by_start[DeviceId{0}], ElementsAre(OpId{0}, OpId{1}, OpId{3}, OpId{4}));
  EXPECT_THAT(index.ops_by_start[DeviceId{1}], ElementsAre(OpId{2}));
}

TEST(TraceIndex, OrdersWhatAMeasuredClockHasOutOfOrder) {
  const Plan plan = two_streams();
  const Trace trace = trace_of_starts({5, 2, 0, 3, 1});
  const TraceIndex index(plan, trace);
  EXPECT_THAT(index.ops_by_start[DeviceId{0}], ElementsAre(OpId{4}, OpId{1}, OpId{3}, OpId{0}));
}

TEST(TraceIndex, OfPartsFoundBesideEachOtherIsTheSame) {
  const Plan plan = two_streams();
  const Trace trace = trace_of_starts({5, 2, 0, 3, 1});
  const TraceIndex index(plan, trace);
  const TraceIndex of_parts(plan, trace, StepEnds(plan, trace), true, order_by_start(plan, trace));
  for (const DeviceId device : {DeviceId{0}, DeviceId{1}}) {
    EXPECT_THAT(of_parts.ops_by_start[device], ElementsAreArray(index.ops_by_start[device]));
  }
  EXPECT_EQ(of_parts.steps.times(), index.steps.times());
  EXPECT_TRUE(of_parts.has_independent_workers);
}

// Ops of a step need not stand together.
TEST(TraceIndex, FindsTheEndOfEachStep) {
  const Plan plan = two_streams();
  const Trace trace = trace_of_starts({0, 1, 7, 8, 3});
  const TraceIndex index(plan, trace);
  EXPECT_EQ(index.steps.before(0), Time{});
  EXPECT_EQ(index.steps.before(1), microseconds(4));
  EXPECT_EQ(index.steps.before(2), microseconds(9));
  EXPECT_EQ(index.steps.last(), 1);
  EXPECT_THAT(index.steps.times(), ElementsAre(microseconds(4), microseconds(5)));
}

}  // namespace
}  // namespace twinrun
