#include "sim/memory_thread.h"

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "core/plan/plan_builder.h"

namespace twinrun::sim {
namespace {

constexpr std::size_t kOps = 300;
constexpr std::size_t kEvents = 50'000;  // several batches, and a part of one

// Ops of three devices that take and give back unequal amounts.
Plan plan_with_effects() {
  PlanBuilder builder("effects");
  for (std::size_t i = 0; i < kOps; ++i) {
    const DeviceId device = builder.add_device("gpu" + std::to_string(i % 3));
    const OpId op = builder.add_marker("op" + std::to_string(i), builder.stream(device, "compute"));
    const auto bytes = static_cast<std::int64_t>(1 + i * i % 97);
    builder.add_memory_effect(op, {MemoryPart::kActivations, {bytes}, MemoryWhen::kStart});
    builder.add_memory_effect(op, {MemoryPart::kActivations, {3 - bytes}, MemoryWhen::kEnd});
  }
  return std::move(builder).finish();
}

template <class Apply>
void apply_events(const Apply& apply) {
  for (std::size_t i = 0; i < kEvents; ++i) {
    const auto op = id_at<OpId>(i * 7 % kOps);
    apply(op, i % 5 < 2 ? MemoryWhen::kEnd : MemoryWhen::kStart,
          Time{static_cast<std::int64_t>(i)});
  }
}

TEST(MemoryThread, PeaksAreThoseOfAMeterWithinTheRun) {
  const Plan plan = plan_with_effects();
  MemoryMeter within(plan);
  apply_events([&](OpId op, MemoryWhen when, Time now) { within.apply(op, when, now); });
  MemoryMeter beside(plan);
  MemoryThread thread(beside);
  apply_events([&](OpId op, MemoryWhen when, Time now) { thread.add(op, when, now); });
  thread.finish();
  ASSERT_EQ(beside.peaks().size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_GT(within.peaks()[i].peak.count, 0);
    EXPECT_EQ(beside.peaks()[i].peak, within.peaks()[i].peak);
    EXPECT_EQ(beside.peaks()[i].at_op, within.peaks()[i].at_op);
    EXPECT_EQ(beside.peaks()[i].at, within.peaks()[i].at);
    EXPECT_EQ(beside.peaks()[i].parts, within.peaks()[i].parts);
  }
}

TEST(MemoryThread, EndsWithARunThatWasGivenUp) {
  const Plan plan = plan_with_effects();
  MemoryMeter meter(plan);
  {
    MemoryThread thread(meter);
    thread.add(id_at<OpId>(5), MemoryWhen::kStart, Time{1});
  }
  EXPECT_EQ(meter.peaks()[2].at_op, id_at<OpId>(5));
}

}  // namespace
}  // namespace twinrun::sim
