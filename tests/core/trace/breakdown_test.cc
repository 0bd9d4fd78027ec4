#include "core/trace/breakdown.h"

#include <gtest/gtest.h>

#include "core/plan/plan_builder.h"

namespace twinrun {
namespace {

constexpr Time us(std::int64_t count) { return {count * 1'000'000}; }

OpTimes ran(std::int64_t ready, std::int64_t start, std::int64_t end) {
  return {us(ready), us(start), us(end)};
}

void expect_sum(const Breakdown& parts) {
  const Time sum = parts.compute + parts.recompute + parts.exposed_communication + parts.bubble +
                   parts.imbalance + parts.input_wait + parts.server_wait + parts.update +
                   parts.host + parts.idle;
  EXPECT_EQ(sum, parts.step);
}

//   gpu0  | forward 0-4 | all-reduce 6-8 beside backward 4-7 | 7-8 exposed | update 8-9 |
//   gpu1  | forward 0-4 | backward 4-6  | all-reduce 6-8                   | update 8-9 |
TEST(Breakdown, CommunicationBesideComputeIsNotExposed) {
  PlanBuilder builder;
  std::vector<OpTimes> times;
  for (const char* const name : {"gpu0", "gpu1"}) {
    const bool first = name[3] == '0';
    const DeviceId device = builder.add_device(name);
    const StreamId compute = builder.stream(device, "compute");
    const std::string at = std::string("@") + name;
    builder.add_compute("step0/forward/a" + at, compute, {});
    builder.add_compute("step0/backward/a" + at, compute, {});
    builder.add_collective("step0/all_reduce/a" + at, builder.stream(device, "dp"),
                           {.group = builder.add_group("all"), .bytes = {8}});
    builder.add_to_group(builder.add_group("all"), device);
    builder.add_compute("step0/update" + at, compute, {});
    times.insert(times.end(), {ran(0, 0, 4), ran(4, 4, first ? 7 : 6), ran(6, 6, 8), ran(8, 8, 9)});
  }
  const Plan plan = std::move(builder).finish();
  const Breakdown parts = breakdown(plan, {"simulated", times, {}, {}, us(9)});
  expect_sum(parts);
  EXPECT_EQ(parts.step, us(9));
  EXPECT_EQ(parts.compute.ps, us(13).ps / 2);               // 7 and 6
  EXPECT_EQ(parts.exposed_communication.ps, us(3).ps / 2);  // 1 and 2
  EXPECT_EQ(parts.update, us(1));
}

// Two stages, one micro-batch, the second stage slower: 2 and 4 of 6.
//   gpu0  | forward 0-2 |        wait 2-6         |
//   gpu1  |  wait 0-2   | forward 2-6             |
TEST(Breakdown, PipelineWaitsAreImbalanceAsFarAsOthersComputeMore) {
  PlanBuilder builder;
  const DeviceId gpu0 = builder.add_device("gpu0");
  const DeviceId gpu1 = builder.add_device("gpu1");
  const OpId first =
      builder.add_compute("step0/forward/a@rank0", builder.stream(gpu0, "compute"), {});
  const OpId send =
      builder.add_send("step0/forward/send@rank0", builder.stream(gpu0, "send"), {gpu1, {1}});
  const OpId recv =
      builder.add_recv("step0/forward/recv@rank1", builder.stream(gpu1, "recv"), {gpu0, {1}});
  const OpId second =
      builder.add_compute("step0/forward/b@rank1", builder.stream(gpu1, "compute"), {});
  builder.depend(send, first);
  builder.depend(second, recv);
  const Plan plan = std::move(builder).finish();
  const Breakdown parts = breakdown(
      plan, {"simulated", {ran(0, 0, 2), ran(2, 2, 2), ran(0, 2, 2), ran(2, 2, 6)}, {}, {}, us(6)});
  expect_sum(parts);
  EXPECT_EQ(parts.compute, us(3));
  EXPECT_EQ(parts.imbalance, us(1));  // of gpu0's wait of 4, 2 are because gpu1 has more to do
  EXPECT_EQ(parts.bubble, us(2));
}

TEST(Breakdown, WaitsAreNamedAfterWhatTheNextOpWaitedFor) {
  PlanBuilder builder;
  const DeviceId gpu = builder.add_device("gpu0");
  const DeviceId cpu = builder.add_device("cpu0");
  const StreamId compute = builder.stream(gpu, "compute");
  const OpId read =
      builder.add_host("step0/input/read@rank0", builder.stream(cpu, "storage"), us(3));
  const OpId forward = builder.add_compute("step0/forward/a@rank0", compute, {});
  const OpId pull = builder.add_recv("step0/pull/a@rank0", builder.stream(gpu, "pull"), {cpu, {1}});
  const OpId send =
      builder.add_send("step0/server/pull@server0", builder.stream(cpu, "serve"), {gpu, {1}});
  const OpId next = builder.add_compute("step0/backward/a@rank0", compute, {});
  builder.depend(forward, read);
  builder.depend(next, pull);
  (void)send;
  const Plan plan = std::move(builder).finish();
  const Breakdown parts =
      breakdown(plan, {"simulated",
                       {ran(0, 0, 3), ran(3, 3, 4), ran(0, 6, 7), ran(6, 6, 7), ran(7, 7, 9)},
                       {},
                       {},
                       us(9)});
  expect_sum(parts);
  EXPECT_EQ(parts.input_wait, us(3));
  EXPECT_EQ(parts.server_wait, us(2));
  EXPECT_EQ(parts.exposed_communication, us(1));
  EXPECT_EQ(parts.compute, us(3));
}

TEST(Breakdown, LeavesWarmUpStepsOut) {
  PlanBuilder builder;
  const StreamId compute = builder.stream(builder.add_device("gpu0"), "compute");
  builder.add_compute("step0/forward/a@rank0", compute, {});
  builder.add_compute("step1/forward/a@rank0", compute, {});
  builder.add_compute("step1/recompute/a@rank0", compute, {});
  const Plan plan = std::move(builder).finish();
  const Breakdown parts = breakdown(
      plan, {"simulated", {ran(0, 0, 9), ran(9, 9, 11), ran(11, 11, 12)}, {}, {}, us(12)}, 1);
  expect_sum(parts);
  EXPECT_EQ(parts.step, us(3));
  EXPECT_EQ(parts.compute, us(2));
  EXPECT_EQ(parts.recompute, us(1));
}

}  // namespace
}  // namespace twinrun
