#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/diagnostics.h"
#include "core/plan/plan_builder.h"
#include "exec/cuda/execute_on_cuda.h"
#include "tests/exec/cuda/substitute_gpus.h"
#include "tests/substitute/substitute.h"

// Whatever goes wrong, the run ends in time, says which op it was and what the others waited for,
// and keeps what was done.

namespace twinrun::exec {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Clock = std::chrono::steady_clock;

constexpr int kRanks = 3;

// Every device computes, then all sum, four times over.
Plan rounds() {
  PlanBuilder builder("rounds");
  std::vector<DeviceId> devices;
  for (int i = 0; i < kRanks; ++i) {
    devices.push_back(builder.add_device("gpu" + std::to_string(i)));
  }
  CollectiveOpSpec sum;
  sum.group = builder.add_group("all", devices);
  sum.bytes = {4000};
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < kRanks; ++i) {
      const std::string at = std::to_string(round) + "@gpu" + std::to_string(i);
      const DeviceId device = devices[static_cast<std::size_t>(i)];
      const OpId work =
          builder.add_compute("work" + at, builder.stream(device, "compute"), {.flops = 1000});
      const OpId sums = builder.add_collective("sum" + at, builder.stream(device, "sums"), sum);
      builder.depend(sums, work);
    }
  }
  return std::move(builder).finish();
}

struct Ended {
  Execution run;
  double seconds = 0;
  [[nodiscard]] const Failure& failure() const { return *run.outcome.failure; }
  [[nodiscard]] std::size_t done() const {
    return static_cast<std::size_t>(
        std::count_if(run.outcome.trace.ops.begin(), run.outcome.trace.ops.end(),
                      [](const OpTimes& op) { return op.end >= op.start; }));
  }
};

Ended run(const Plan& plan, CudaSetting setting, const ExecuteOptions& options) {
  const auto begin = Clock::now();
  Ended out{execute_on_gpus(plan, options, setting)};
  out.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return out;
}

ExecuteOptions with_timeout(double seconds) {
  ExecuteOptions options;
  options.is_reproducible = true;
  options.run.timeout_s = seconds;
  return options;
}

TEST(CudaFaults, NoneLeavesNothingBehind) {
  const Ended ended = run(rounds(), {substitute_gpus(kRanks)}, with_timeout(20));
  EXPECT_FALSE(ended.run.outcome.failure);
  EXPECT_EQ(ended.done(), 24U);
  EXPECT_THAT(substitute::leaks(), testing::IsEmpty());
}

TEST(CudaFaults, OfACallNamesTheOpAndTheLibrarysWords) {
  const auto gpus = substitute_gpus(kRanks);
  substitute::fail_call("cublasSgemm", 5, CUBLAS_STATUS_EXECUTION_FAILED);
  const Ended ended = run(rounds(), {gpus}, with_timeout(20));
  ASSERT_TRUE(ended.run.outcome.failure);
  EXPECT_EQ(ended.failure().kind, FailureKind::kOpFailed);
  EXPECT_THAT(ended.failure().message,
              AllOf(HasSubstr("work1@gpu1 on gpu1 failed: cublasSgemm: "), HasSubstr("waiting: ")));
  EXPECT_EQ(ended.run.outcome.trace.failure, ended.failure().message);
  EXPECT_FALSE(ended.run.outcome.left_threads);
}

TEST(CudaFaults, OfNcclNamesTheCollective) {
  const auto gpus = substitute_gpus(kRanks);
  substitute::fail_call("ncclAllReduce", 4, ncclInternalError);
  const Ended ended = run(rounds(), {gpus}, with_timeout(20));
  ASSERT_TRUE(ended.run.outcome.failure);
  EXPECT_THAT(ended.failure().message, HasSubstr("sum1@gpu0 on gpu0 failed: ncclAllReduce: "));
}

TEST(CudaFaults, OfADeviceThatBreaksIsTold) {
  const auto gpus = substitute_gpus(kRanks);
  const Plan plan = rounds();
  CudaSetting setting{gpus};
  ExecuteOptions options = with_timeout(5);
  options.run.pace.assign(plan.size(), Time{1'000'000});  // kernels of its own, which can break
  substitute::break_device_at_kernel(7, cudaErrorIllegalAddress);
  const Ended ended = run(plan, std::move(setting), options);
  ASSERT_TRUE(ended.run.outcome.failure);
  EXPECT_EQ(ended.failure().kind, FailureKind::kOpFailed);
  EXPECT_THAT(ended.failure().message, HasSubstr("cudaErrorIllegalAddress"));
  EXPECT_LT(ended.seconds, 20);
}

// A GPU that does not come back cannot be left in order: what it uses is left to the process.
TEST(CudaFaults, OfAKernelThatNeverEndsIsATimeout) {
  const auto gpus = substitute_gpus(kRanks);
  const Plan plan = rounds();
  ExecuteOptions options = with_timeout(0.5);
  options.run.pace.assign(plan.size(), Time{1'000'000});
  substitute::hang_kernel("twinrun::exec::gpu::hold_until(unsigned long const*, long)", 8);
  const Ended ended = run(plan, {gpus}, options);
  substitute::release_hung_kernels();
  ASSERT_TRUE(ended.run.outcome.failure);
  EXPECT_EQ(ended.failure().kind, FailureKind::kTimeout);
  EXPECT_NE(ended.failure().op, no_id<OpId>());
  EXPECT_THAT(ended.failure().message, AllOf(HasSubstr("no op has ended for 0.5 s"),
                                             HasSubstr("running: "), HasSubstr("waiting: ")));
  EXPECT_TRUE(ended.run.outcome.left_threads);
  EXPECT_GT(ended.done(), 0U);
  EXPECT_LT(ended.seconds, 15);
}

TEST(CudaFaults, OfARankThatNeverComesIsATimeoutThatNamesIt) {
  const auto gpus = substitute_gpus(kRanks);
  const Plan plan = rounds();
  CudaSetting setting{gpus};
  static std::atomic<bool> may_go_on;
  may_go_on = false;
  setting.run.op_begins = [&](OpId op, const GpuStream& stream) {
    if (plan.id(op) == "work2@gpu1") {
      cudaLaunchHostFunc(
          reinterpret_cast<cudaStream_t>(stream.handle), [](void*) { may_go_on.wait(false); },
          nullptr);
    }
  };
  const Ended ended = run(plan, std::move(setting), with_timeout(0.5));
  may_go_on = true;
  may_go_on.notify_all();
  ASSERT_TRUE(ended.run.outcome.failure);
  EXPECT_EQ(ended.failure().kind, FailureKind::kTimeout);
  EXPECT_THAT(ended.failure().message,
              AllOf(HasSubstr("waiting: "), HasSubstr("work2@gpu1"), HasSubstr("sum2@gpu1")));
  EXPECT_EQ(ended.done(), 2U * 6 + 2U * 2);  // two rounds, and the work of the other two GPUs
  EXPECT_LT(ended.seconds, 15);
}

TEST(CudaFaults, OfSomebodyWhoWantsItToEndIsNoError) {
  const auto gpus = substitute_gpus(kRanks);
  const Plan plan = rounds();
  std::atomic<bool> interrupted{false};
  ExecuteOptions options = with_timeout(20);
  options.run.interrupted = &interrupted;
  options.run.pace.assign(plan.size(), Time{200'000'000'000});  // 0.2 s each
  options.run.progress = [&](std::size_t done, std::size_t) { interrupted = done > 0; };
  const Ended ended = run(plan, {gpus}, options);
  ASSERT_TRUE(ended.run.outcome.failure);
  EXPECT_EQ(ended.failure().kind, FailureKind::kInterrupted);
  EXPECT_GT(ended.done(), 0U);
  EXPECT_LT(ended.done(), 24U);
}

TEST(CudaFaults, OfTooLittleMemoryAreRefusedWithTheSize) {
  const auto gpus = substitute_gpus(kRanks);
  substitute::Device small;
  small.memory_bytes = 1 << 20;
  substitute::set_devices({small, small, small});
  PlanBuilder builder("large");
  const StreamId stream = builder.stream(builder.add_device("gpu0"), "compute");
  builder.add_compute("work", stream, {.flops = 2e9});
  const Plan plan = std::move(builder).finish();
  try {
    execute_on_gpus(plan, with_timeout(5), {gpus});
    FAIL();
  } catch (const CannotRun& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("large does not fit: gpu0"), HasSubstr("MiB")));
  }
}

// NCCL has a thread of its own that notices, and nobody is told but who asks.
TEST(CudaFaults, OfACommunicatorAreNoticedWhileEverybodyWaits) {
  const auto gpus = substitute_gpus(kRanks);
  const Plan plan = rounds();
  const DeviceHomes homes(plan, 1);
  GpuMachine machine(plan, *gpus, device_places(plan, homes, {kRanks}), ProductLibrary::kBuiltIn);
  EmulatedWork work(plan, machine);
  Communicators communicators(plan, machine, homes, 0);
  CudaRunOptions options;
  options.run.timeout_s = 20;
  options.op_begins = [&](OpId op, const GpuStream& stream) {
    if (plan.id(op) == "sum2@gpu1") {
      substitute::stall(reinterpret_cast<cudaStream_t>(stream.handle));
    }
  };
  options.op_ends = [&](OpId op, const GpuStream&) {
    if (plan.id(op) == "sum3@gpu2") {
      substitute::fail_communicator(reinterpret_cast<ncclComm_t>(communicators.of(op)->handle),
                                    ncclSystemError);
    }
  };
  const auto begin = Clock::now();
  const Outcome outcome = run_on_gpus(plan, machine, work, communicators, options);
  EXPECT_LT(std::chrono::duration<double>(Clock::now() - begin).count(), 15);
  ASSERT_TRUE(outcome.failure);
  EXPECT_EQ(outcome.failure->kind, FailureKind::kOpFailed);
  EXPECT_THAT(outcome.failure->message, AllOf(HasSubstr("sum"), HasSubstr(" failed: NCCL: ")));
  for (std::size_t i = 0; i < plan.stream_count(); ++i) {
    substitute::resume(reinterpret_cast<cudaStream_t>(machine.stream(id_at<StreamId>(i)).handle));
  }
}

}  // namespace
}  // namespace twinrun::exec
