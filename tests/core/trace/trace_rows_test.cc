#include "core/trace/trace_rows.h"

#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/plan/plan_builder.h"

namespace twinrun {
namespace {

using ::testing::ElementsAre;

TEST(ToNanoseconds, RoundsToTheNearestAndKeepsOrder) {
  EXPECT_EQ(to_nanoseconds({0}), 0);
  EXPECT_EQ(to_nanoseconds({499}), 0);
  EXPECT_EQ(to_nanoseconds({500}), 1);
  EXPECT_EQ(to_nanoseconds({-500}), 0);
  EXPECT_EQ(to_nanoseconds({-501}), -1);
  EXPECT_EQ(to_nanoseconds({INT64_MAX}), INT64_MAX / 1000 + 1);
  EXPECT_EQ(to_nanoseconds({INT64_MIN}), INT64_MIN / 1000 - 1);
  for (std::int64_t ps = -5000; ps < 5000; ++ps) {
    ASSERT_LE(to_nanoseconds({ps}), to_nanoseconds({ps + 1}));
  }
}

TEST(TraceRows, GiveKnownStreamsTheirNumbersAndOthersFreeOnes) {
  PlanBuilder b;
  const DeviceId gpu = b.add_device("gpu0");
  for (const char* stream : {"x", "comm", "compute", "dp", "copy", "pp", "tp", "host"}) {
    b.add_marker(stream, b.stream(gpu, stream));
  }
  const Plan plan = std::move(b).finish();
  Trace trace;
  trace.ops.resize(plan.size());
  std::vector<std::string> found;
  const std::vector<DeviceId> devices = {gpu};
  for (const TraceRow& row : trace_rows(plan, trace, devices)) {
    found.push_back(std::to_string(row.tid) + " " + row.name);
  }
  EXPECT_THAT(found, ElementsAre("40 x", "20 nccl (comm)", "7 compute stream", "41 nccl (dp)",
                                 "30 h2d / d2h", "22 nccl (pp)", "21 nccl (tp)", "1 host stream"));
}

TEST(TraceRows, SplitWhatOverlapsIntoAsManyLanesAsOverlap) {
  PlanBuilder b;
  const DeviceId gpu = b.add_device("gpu0");
  const StreamId stream = b.stream(gpu, "compute");
  for (const char* id : {"a", "b", "c", "d"}) {
    b.add_marker(id, stream);
  }
  const Plan plan = std::move(b).finish();
  Trace trace;
  trace.ops = {{{}, {10}, {20}}, {{}, {0}, {12}}, {{}, {12}, {13}}, {{}, {5}, {4}}};
  const std::vector<DeviceId> devices = {gpu};
  const auto rows = trace_rows(plan, trace, devices);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_THAT(rows[0].split, ElementsAre(OpId{1}, OpId{2}));
  EXPECT_THAT(rows[1].split, ElementsAre(OpId{0}));
  EXPECT_EQ(rows[1].tid, 100);
  EXPECT_EQ(rows[1].name, "compute stream (overlap 1)");
}

}  // namespace
}  // namespace twinrun
