#include "exec/cuda/gpu_machine.h"

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/diagnostics.h"
#include "core/plan/plan_builder.h"
#include "exec/cuda/execute_on_cuda.h"
#include "tests/exec/cuda/substitute_gpus.h"
#include "tests/substitute/substitute.h"

// What is asked of the libraries: how products round, which way a copy takes, which stream comes
// first, and what NCCL is asked to predict.

namespace twinrun::exec {
namespace {

cudaStream_t native(const GpuStream& stream) {
  return reinterpret_cast<cudaStream_t>(stream.handle);
}

// An op that computes on the first of two GPUs.
Plan one_op(Dtype dtype) {
  PlanBuilder builder("one");
  const DeviceId first = builder.add_device("gpu0");
  const DeviceId second = builder.add_device("gpu1");
  builder.add_compute("work", builder.stream(first, "compute"), {.flops = 1, .dtype = dtype});
  builder.add_compute("other", builder.stream(second, "compute"), {.flops = 1});
  return std::move(builder).finish();
}

class OnTwoGpus {
 public:
  explicit OnTwoGpus(Dtype dtype = Dtype::kFp32, bool reach_each_other = true)
      : gpus_(substitute_gpus(2)), plan_(one_op(dtype)) {
    substitute::set_peer_access_possible(0, 1, reach_each_other);
    substitute::set_peer_access_possible(1, 0, reach_each_other);
    machine_ = std::make_unique<GpuMachine>(
        plan_, *gpus_, device_places(plan_, DeviceHomes(plan_, 1), {2}), ProductLibrary::kBuiltIn);
  }

  std::span<float> array(std::size_t gpu, const std::vector<float>& values) {
    const std::span<float> out = machine_->allocate(id_at<DeviceId>(gpu), values.size());
    machine_->write(values, out);
    return out;
  }
  std::vector<float> read(std::span<float> array) const {
    std::vector<float> out(array.size());
    machine_->read(array, out);
    return out;
  }

  // As in a run: measured first, then enqueued.
  void run(const std::function<void(TensorKernels&)>& work) {
    work(machine_->kernels(OpId{0}));
    machine_->prepare();
    work(machine_->kernels(OpId{0}));
    ASSERT_EQ(cudaStreamSynchronize(native(machine_->stream_of(OpId{0}))), cudaSuccess);
  }

 private:
  std::shared_ptr<GpuRuntime> gpus_;
  Plan plan_;
  std::unique_ptr<GpuMachine> machine_;
};

float times_one(Dtype dtype, float value) {
  OnTwoGpus gpus(dtype);
  const std::span<float> a = gpus.array(0, {value});
  const std::span<float> b = gpus.array(0, {1});
  const std::span<float> c = gpus.array(0, {0});
  gpus.run([&](TensorKernels& kernels) {
    kernels.multiply({.m = 1, .n = 1, .k = 1, .a = a.data(), .b = b.data(), .c = c.data()});
  });
  return gpus.read(c).front();
}

// Bits after the point: fp32 has 23, tf32 and fp16 have 10, bf16 has 7; and fp16 ends at 2^-24.
TEST(Products, RoundTheirOperandsToTheTypeOfTheOp) {
  const float finest = 1 + std::ldexp(1.0F, -20);
  const float fine = 1 + std::ldexp(1.0F, -9);
  const float tiny = std::ldexp(1.0F, -30);
  struct Expected {
    Dtype dtype;
    float finest;
    float fine;
    float tiny;
  };
  for (const Expected& one :
       {Expected{Dtype::kFp32, finest, fine, tiny}, Expected{Dtype::kTf32, 1, fine, tiny},
        Expected{Dtype::kFp16, 1, fine, 0}, Expected{Dtype::kBf16, 1, 1, tiny}}) {
    EXPECT_EQ(times_one(one.dtype, finest), one.finest) << name_of(one.dtype);
    EXPECT_EQ(times_one(one.dtype, fine), one.fine) << name_of(one.dtype);
    EXPECT_EQ(times_one(one.dtype, tiny), one.tiny) << name_of(one.dtype);
  }
}

// In two bytes 2049 ones would stay at 2048 (fp16) or 256 (bf16).
TEST(Products, SumInFp32WhateverTheOperandsAre) {
  constexpr std::int64_t kDepth = 2049;
  for (const Dtype dtype : {Dtype::kFp32, Dtype::kTf32, Dtype::kFp16, Dtype::kBf16}) {
    OnTwoGpus gpus(dtype);
    const std::vector<float> ones(kDepth, 1.0F);
    const std::span<float> a = gpus.array(0, ones);
    const std::span<float> b = gpus.array(0, ones);
    const std::span<float> c = gpus.array(0, {0});
    gpus.run([&](TensorKernels& kernels) {
      kernels.multiply({.m = 1, .n = 1, .k = kDepth, .a = a.data(), .b = b.data(), .c = c.data()});
    });
    EXPECT_EQ(gpus.read(c).front(), static_cast<float>(kDepth)) << name_of(dtype);
  }
}

TEST(Products, InOtherTypesAreRefused) {
  for (const Dtype dtype : {Dtype::kFp64, Dtype::kFp8, Dtype::kInt8}) {
    EXPECT_THROW(times_one(dtype, 1), CannotRun) << name_of(dtype);
  }
}

std::vector<float> numbers(std::size_t count) {
  std::vector<float> out(count);
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = static_cast<float>(i % 1009);
  }
  return out;
}

constexpr std::size_t kMany = (std::size_t{4} << 20) + 3;  // more than one piece

TEST(Copies, GoDirectlyWhereGpusReachEachOther) {
  OnTwoGpus gpus;
  const std::span<float> from = gpus.array(0, numbers(kMany));
  const std::span<float> into = gpus.array(1, std::vector<float>(kMany));
  gpus.run([&](TensorKernels& kernels) { kernels.copy(from, into, false); });
  EXPECT_EQ(gpus.read(into), numbers(kMany));
  EXPECT_EQ(substitute::calls_of("cudaMemcpyPeerAsync"), 1);
}

TEST(Copies, GoThroughPinnedMemoryInPiecesWhereTheyDoNot) {
  OnTwoGpus gpus(Dtype::kFp32, false);
  const std::span<float> from = gpus.array(0, numbers(kMany));
  const std::span<float> into = gpus.array(1, std::vector<float>(kMany));
  const std::int64_t before = substitute::calls_of("cudaMemcpyAsync");
  gpus.run([&](TensorKernels& kernels) { kernels.copy(from, into, false); });
  EXPECT_EQ(substitute::calls_of("cudaMemcpyPeerAsync"), 0);
  EXPECT_EQ(substitute::calls_of("cudaMemcpyAsync") - before, 4);  // there and back, two pieces
  EXPECT_EQ(gpus.read(into), numbers(kMany));
}

TEST(Sums, OnAnotherGpuAreTheSameEitherWay) {
  for (const bool reach_each_other : {true, false}) {
    OnTwoGpus gpus(Dtype::kFp32, reach_each_other);
    const std::span<float> from = gpus.array(0, {1, 2, 3});
    const std::span<float> into = gpus.array(1, {10, 20, 30});
    gpus.run([&](TensorKernels& kernels) { kernels.add(from, into, true); });
    EXPECT_THAT(gpus.read(into), testing::ElementsAre(11, 22, 33));
    EXPECT_THAT(gpus.read(from), testing::Each(0));  // taken
  }
}

// Two GPUs that compute, copy and sum.
Plan streams_of_all_kinds() {
  PlanBuilder builder("streams");
  std::vector<DeviceId> devices = {builder.add_device("gpu0"), builder.add_device("gpu1")};
  CollectiveOpSpec sum;
  sum.group = builder.add_group("all", devices);
  int round = 0;
  for (const std::int64_t bytes : {4000, 8000, 4000}) {
    sum.bytes = {bytes};
    for (const DeviceId device : devices) {
      const std::string at = std::to_string(round) + "@gpu" + std::to_string(index_of(device));
      builder.add_compute("work" + at, builder.stream(device, "compute"), {.flops = 1});
      builder.add_collective("sum" + at, builder.stream(device, "sums"), sum);
    }
    ++round;
  }
  return std::move(builder).finish();
}

int priority_of(const GpuMachine& machine, const Plan& plan, std::string_view name) {
  for (std::size_t i = 0; i < plan.stream_count(); ++i) {
    if (plan.stream_name(id_at<StreamId>(i)) == name) {
      int out = 1;
      cudaStreamGetPriority(native(machine.stream(id_at<StreamId>(i))), &out);
      return out;
    }
  }
  return 1;
}

// A smaller number is more urgent.
TEST(Streams, ThatExchangeComeBeforeThoseThatCompute) {
  const auto gpus = substitute_gpus(2);
  const Plan plan = streams_of_all_kinds();
  const GpuMachine machine(plan, *gpus, device_places(plan, DeviceHomes(plan, 1), {2}),
                           ProductLibrary::kBuiltIn);
  int least = 0;
  int greatest = 0;
  ASSERT_EQ(cudaDeviceGetStreamPriorityRange(&least, &greatest), cudaSuccess);
  EXPECT_LT(greatest, least);
  EXPECT_EQ(priority_of(machine, plan, "sums"), greatest);
  EXPECT_EQ(priority_of(machine, plan, "compute"), least);
}

// One for each kind and size; the second 4000 bytes are like the first.
TEST(Estimates, AreWhatNcclPredictsForEachKindOfCollective) {
  const auto gpus = substitute_gpus(2);
  substitute::set_nccl_estimate([](const std::vector<substitute::Task>& tasks) {
    return static_cast<float>(tasks.size() * 100 + tasks.front().bytes / 1000);  // microseconds
  });
  const Plan plan = streams_of_all_kinds();
  ExecuteOptions options;
  options.estimates_collectives = true;
  options.run.timeout_s = 20;
  const Execution run = execute_on_gpus(plan, options, {gpus});
  ASSERT_FALSE(run.outcome.failure) << run.outcome.failure->message;
  ASSERT_EQ(run.estimates.size(), 2U);
  EXPECT_DOUBLE_EQ(run.estimates[0].seconds, 204e-6);
  EXPECT_DOUBLE_EQ(run.estimates[1].seconds, 208e-6);
  EXPECT_EQ(plan.collective(plan.instance_ops(run.estimates[1].instance).front()).bytes.count,
            8000);
}

TEST(Estimates, AreNotAskedForUnlessSomebodyWantsThem) {
  const auto gpus = substitute_gpus(2);
  ExecuteOptions options;
  options.run.timeout_s = 20;
  const Execution run = execute_on_gpus(streams_of_all_kinds(), options, {gpus});
  EXPECT_FALSE(run.outcome.failure);
  EXPECT_TRUE(run.estimates.empty());
  EXPECT_EQ(substitute::calls_of("ncclGroupSimulateEnd"), 0);
}

}  // namespace
}  // namespace twinrun::exec
