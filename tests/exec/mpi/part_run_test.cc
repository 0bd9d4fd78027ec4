#include "exec/mpi/part_run.h"

#include <atomic>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/plan/plan_builder.h"
#include "exec/mpi/device_homes.h"
#include "exec/mpi/merge_parts.h"
#include "tests/exec/mpi/fake_transport.h"

namespace twinrun::exec {
namespace {

using testing::HasSubstr;

// On three devices: a collective, a message, and an op that waits for one of another device.
Plan three_devices() {
  PlanBuilder builder("three devices");
  std::vector<DeviceId> devices;
  std::vector<StreamId> streams;
  for (const char* const name : {"gpu0", "gpu1", "gpu2"}) {
    devices.push_back(builder.add_device(name));
    streams.push_back(builder.stream(devices.back(), "compute"));
  }
  const GroupId all = builder.add_group("all", devices);
  for (std::size_t i = 0; i < 3; ++i) {
    builder.add_compute("work@gpu" + std::to_string(i), streams[i], {.flops = 1e6});
    builder.add_collective("sum@gpu" + std::to_string(i), streams[i],
                           {.kind = CollectiveKind::kAllReduce, .group = all, .bytes = {100}});
  }
  builder.add_send("send@gpu0", streams[0], {.peer = devices[2], .bytes = {40}});
  const OpId received =
      builder.add_recv("recv@gpu2", streams[2], {.peer = devices[0], .bytes = {40}});
  builder.depend(builder.add_compute("after@gpu1", streams[1], {.flops = 1e6}), received);
  return std::move(builder).finish();
}

Execution run_in(int processes, const Plan& plan, const ExecuteOptions& options, int deaf = -1) {
  Execution out;
  in_processes(processes, [&](FakeTransport& transport) {
    Post post(transport);
    PartOptions part{options, nullptr, {}};
    if (transport.rank() == deaf) {
      part.is_asked_to_end = [&] { return transport.is_deaf = true, false; };
    }
    Execution execution = execute_together(plan, post, part);
    EXPECT_EQ(execution.is_told_elsewhere, transport.rank() != 0);
    if (transport.rank() == 0) {
      out = std::move(execution);
    }
  });
  return out;
}

TEST(ExecuteTogether, RunsEveryOpInOrder) {
  const Plan plan = three_devices();
  for (const int processes : {1, 2, 3, 4}) {
    const Execution run = run_in(processes, plan, {});
    ASSERT_FALSE(run.outcome.failure) << run.outcome.failure->message;
    EXPECT_EQ(run.processes, processes);
    const auto times = [&](const char* id) {
      return run.outcome.trace.ops[index_of(*plan.find(id))];
    };
    for (const OpTimes& op : run.outcome.trace.ops) {
      EXPECT_LE(op.ready, op.start);
      EXPECT_LE(op.start, op.end);
    }
    const Time slack{static_cast<std::int64_t>(2e12 * run.clock_residual_s) + 1000};
    EXPECT_GE(times("after@gpu1").start + slack, times("recv@gpu2").end);
    EXPECT_GE(times("sum@gpu2").end + slack, times("work@gpu0").end);
    EXPECT_EQ(run.outcome.trace.collectives.front().algorithm, "recursive-doubling");
  }
}

TEST(ExecuteTogether, AnInterruptEndsAllProcesses) {
  PlanBuilder builder("long");
  for (const char* const name : {"gpu0", "gpu1"}) {
    const StreamId stream = builder.stream(builder.add_device(name), "compute");
    for (int i = 0; i < 100; ++i) {
      builder.add_compute("op" + std::to_string(i) + "@" + name, stream, {.flops = 1e9});
    }
  }
  const Plan plan = std::move(builder).finish();
  std::atomic<bool> interrupted = true;
  ExecuteOptions options;
  options.run.interrupted = &interrupted;
  const Execution run = run_in(2, plan, options);
  ASSERT_TRUE(run.outcome.failure);
  EXPECT_EQ(run.outcome.failure->kind, FailureKind::kInterrupted);
}

TEST(ExecuteTogether, WhoIsSilentIsNamedWithWhatTheOthersWaitFor) {
  const Plan plan = three_devices();
  ExecuteOptions options;
  options.run.timeout_s = 0.3;
  options.run.pace.assign(plan.size(), Time{150'000'000'000});  // so that it gets that far
  const Execution run = run_in(3, plan, options, 2);
  ASSERT_TRUE(run.outcome.failure);
  EXPECT_EQ(run.outcome.failure->kind, FailureKind::kTimeout);
  EXPECT_THAT(run.outcome.failure->message, HasSubstr("rank 2 (gpu2)"));
  EXPECT_THAT(run.outcome.failure->message,
              HasSubstr("rank 0 (gpu0): running: nothing; waiting: sum@gpu0 on gpu0 for"));
  EXPECT_LT(run.outcome.trace.ops[index_of(*plan.find("after@gpu1"))].end, Time{0});
}

// Small messages leave whether or not anybody takes them: each waits for the other's second sum.
TEST(ExecuteTogether, CollectivesInAnotherOrderEndWithTheTimeout) {
  PlanBuilder builder("another order");
  const std::vector<DeviceId> devices = {builder.add_device("gpu0"), builder.add_device("gpu1")};
  const GroupId all = builder.add_group("all", devices);
  for (const auto& [name, device] : {std::pair("a@gpu0", 0U), std::pair("b@gpu0", 0U),
                                     std::pair("b@gpu1", 1U), std::pair("a@gpu1", 1U)}) {
    builder.add_collective(name, builder.stream(devices[device], "sums"),
                           {.kind = CollectiveKind::kAllReduce, .group = all, .bytes = {100}});
  }
  const Plan plan = std::move(builder).finish();
  ExecuteOptions options;
  options.run.timeout_s = 0.3;
  const Execution run = run_in(2, plan, options);
  ASSERT_TRUE(run.outcome.failure);
  EXPECT_EQ(run.outcome.failure->kind, FailureKind::kTimeout);
  EXPECT_THAT(run.outcome.failure->message,
              HasSubstr("a@gpu0 on gpu0 for a@gpu1 on gpu1 (rank 1)"));
  EXPECT_THAT(run.outcome.failure->message,
              HasSubstr("b@gpu1 on gpu1 for b@gpu0 on gpu0 (rank 0)"));
}

TEST(Part, IsTheSameAfterItsJourney) {
  Part part;
  part.is_whole = true;
  part.begin_ns = 17;
  part.at_end = {-5, 80};
  part.ops = {{OpId{3}, {Time{1}, Time{2}, Time{3}}}};
  part.failure = Failure{FailureKind::kTimeout, OpId{4}, "too late"};
  part.algorithms = {"ring", ""};
  part.loss_of_samples = {0.5, 0};
  part.weights = {{1, 7, {1.5F, 2.5F}}};
  const std::string bytes = to_bytes(part);
  EXPECT_EQ(to_bytes(part_from_bytes(bytes)), bytes);
  EXPECT_EQ(part_from_bytes(bytes).failure->message, "too late");
  EXPECT_EQ(part_from_bytes(bytes).weights.front().values, part.weights.front().values);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_THROW(part_from_bytes(std::string_view(bytes).substr(0, length)), std::runtime_error);
  }
}

// Two processes, the clock of the second 1 ms ahead at first and 3 ms at last.
TEST(MergeParts, PutsTimesOnOneClockAndStartsWhereAllAreReady) {
  PlanBuilder builder("message");
  const DeviceId gpu0 = builder.add_device("gpu0");
  const DeviceId gpu1 = builder.add_device("gpu1");
  builder.add_send("send@gpu0", builder.stream(gpu0, "compute"), {.peer = gpu1, .bytes = {4}});
  builder.add_recv("recv@gpu1", builder.stream(gpu1, "compute"), {.peer = gpu0, .bytes = {4}});
  const Plan plan = std::move(builder).finish();
  constexpr std::int64_t kMs = 1'000'000;
  const auto ms = [](std::int64_t count) { return Time{count * kMs * 1000}; };
  std::vector<Part> parts(2);
  parts[0].is_whole = parts[1].is_whole = true;
  parts[0].begin_ns = 100 * kMs;
  parts[0].ops = {{OpId{0}, {ms(10), ms(10), ms(12)}}};
  parts[1].begin_ns = 101 * kMs;
  parts[1].end_ns = 141 * kMs;
  parts[1].at_begin = {1 * kMs, 200};
  parts[1].at_end = {3 * kMs, 600};
  parts[1].ops = {{OpId{1}, {ms(0), ms(0), ms(20)}}};
  const Execution run = merge_parts(plan, DeviceHomes(plan, 2), parts);
  EXPECT_EQ(run.outcome.trace.ops[0], (OpTimes{ms(10), ms(10), ms(12)}));
  EXPECT_EQ(run.outcome.trace.ops[1], (OpTimes{ms(0), ms(10), ms(19)}));
  EXPECT_DOUBLE_EQ(run.clock_residual_s, 300e-9);

  parts[1].is_whole = false;
  parts[1].ops.clear();
  parts[0].failure = Failure{FailureKind::kInterrupted, no_id<OpId>(), "interrupted"};
  const Execution died = merge_parts(plan, DeviceHomes(plan, 2), parts);
  ASSERT_TRUE(died.outcome.failure);
  EXPECT_EQ(died.outcome.failure->kind, FailureKind::kProcessDied);
  EXPECT_THAT(died.outcome.failure->message, HasSubstr("rank 1 (gpu1) died"));
  EXPECT_THAT(died.outcome.failure->message, HasSubstr("last seen before recv@gpu1"));
  EXPECT_EQ(plan.id(died.outcome.failure->op), "recv@gpu1");
}

}  // namespace
}  // namespace twinrun::exec
