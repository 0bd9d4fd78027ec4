#include "core/compute/compute_time.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "core/compute/efficiency.h"
#include "tests/core/compute/device_examples.h"

namespace twinrun {
namespace {

ComputeOp op_of(double flops, std::int64_t bytes = 0, Dtype dtype = Dtype::kFp32) {
  ComputeOp op;
  op.flops = flops;
  op.bytes = {bytes};
  op.dtype = dtype;
  return op;
}

Kernel gemm(std::uint32_t m, std::uint32_t n, std::uint32_t k) {
  return {KernelKind::kGemm, m, n, k, "", std::nullopt};
}

// 10 TFLOP/s in fp32, all of which is reached, and no launch overhead.
DeviceSpec perfect() {
  DeviceSpec device = gpu(70, {{Dtype::kFp32, 10}}, 1000);
  device.launch_overhead = {};
  device.efficiency = {{"", std::nullopt, 0, 1.0}};
  return device;
}

TEST(ComputeTime, NothingToDoTakesTheLaunch) {
  const ComputeTime result = compute_time(v100(), op_of(0), nullptr);
  EXPECT_EQ(result.time, microseconds(5));
  EXPECT_EQ(result.bound, ComputeBound::kLaunch);
  EXPECT_EQ(result.efficiency, 0);
  EXPECT_EQ(result.note, ComputeNote::kNone);
}

TEST(ComputeTime, MovingBytesTakesTheMemoryAtItsEfficiency) {
  // 792 GB/s are 88 % of 900: 792 MB take a millisecond.
  const ComputeTime result = compute_time(v100(), op_of(0, 792'000'000), nullptr);
  EXPECT_EQ(result.time, microseconds(1005));
  EXPECT_EQ(result.bound, ComputeBound::kMemory);
}

TEST(ComputeTime, ComputingTakesThePeakAtTheDevicesOwnEfficiency) {
  DeviceSpec device = perfect();
  EXPECT_EQ(compute_time(device, op_of(1e12), nullptr).time, microseconds(100'000));
  device.efficiency.front().fraction = 0.5;
  const ComputeTime half = compute_time(device, op_of(1e12), nullptr);
  EXPECT_EQ(half.time, microseconds(200'000));
  EXPECT_EQ(half.bound, ComputeBound::kCompute);
  EXPECT_DOUBLE_EQ(half.efficiency, 0.5);
}

TEST(ComputeTime, TheLongerOfComputeAndMemoryCounts) {
  const DeviceSpec device = perfect();  // 100 us of computing against 880 MB/ms of memory
  EXPECT_EQ(compute_time(device, op_of(1e9, 1), nullptr).time, microseconds(100));
  const ComputeTime memory = compute_time(device, op_of(1e9, 176'000'000), nullptr);
  EXPECT_EQ(memory.time, microseconds(200));
  EXPECT_EQ(memory.bound, ComputeBound::kMemory);
  EXPECT_DOUBLE_EQ(memory.efficiency, 0.5);
}

TEST(ComputeTime, AGemmThatSaysNothingHasItsFlopsAndEachMatrixOnce) {
  const Kernel kernel = gemm(4096, 64, 2048);
  const auto bytes = std::int64_t{2} * (4096 * 2048 + 2048 * 64 + 4096 * 64);
  EXPECT_EQ(compute_time(v100(), op_of(2.0 * 4096 * 64 * 2048, bytes, Dtype::kFp16), &kernel).time,
            compute_time(v100(), op_of(0, 0, Dtype::kFp16), &kernel).time);
}

TEST(ComputeTime, AnOpWithoutAShapeTakesTheShareOfLargeProducts) {
  const double most =
      efficiency_curve(efficiency_table(), v100(), EfficiencyKind::kGemm, Dtype::kFp32).most;
  EXPECT_NEAR(compute_time(v100(), op_of(15.7e12), nullptr).efficiency, most, 1e-4);
}

TEST(ComputeTime, NeverShrinksWithMoreFlopsOrBytes) {
  const std::vector<DeviceSpec> devices = {v100(), a100(), gpu(61, {{Dtype::kFp32, 11.3}}, 484),
                                           gpu(0, {{Dtype::kFp32, 5}}, 100)};
  const Kernel kernel = gemm(100, 100, 100);
  for (const DeviceSpec& device : devices) {
    for (const Kernel* shape : {static_cast<const Kernel*>(nullptr), &kernel}) {
      Time last{};
      for (int step = 0; step < 140; ++step) {
        const double flops = std::pow(1.3, step);  // 1 to 7e15
        const Time now = compute_time(device, op_of(flops, 1000), shape).time;
        ASSERT_GE(now, last) << flops;
        last = now;
      }
      last = {};
      for (std::int64_t bytes = 1; bytes < (std::int64_t{1} << 60); bytes *= 2) {
        const Time now = compute_time(device, op_of(1e9, bytes), shape).time;
        ASSERT_GE(now, last) << bytes;
        last = now;
      }
    }
  }
}

TEST(ComputeTime, WhatTakesForEverTakesTheLargestTime) {
  const Time longest{std::numeric_limits<std::int64_t>::max()};
  EXPECT_EQ(compute_time(v100(), op_of(1e30), nullptr).time, longest);
  EXPECT_EQ(compute_time(v100(), op_of(1e308), nullptr).time, longest);
  const std::int64_t huge = std::int64_t{1} << 60;
  EXPECT_NEAR(to_seconds(compute_time(v100(), op_of(0, huge), nullptr).time),
              std::ldexp(1, 60) / 792e9, 1);
  DeviceSpec slow = v100();
  slow.memory_bandwidth = {1};
  EXPECT_EQ(compute_time(slow, op_of(0, huge), nullptr).time, longest);
  EXPECT_EQ(compute_time(v100(), op_of(1e9), nullptr, {.compute = 0}).time, longest);
  EXPECT_EQ(compute_time(v100(), op_of(0, 1), nullptr, {.memory_bandwidth = 0}).time, longest);
}

TEST(ComputeTime, ScalesSlowOneInstanceDown) {
  const DeviceSpec device = perfect();
  EXPECT_EQ(compute_time(device, op_of(1e9), nullptr, {.compute = 0.5}).time, microseconds(200));
  EXPECT_EQ(compute_time(device, op_of(0, 880'000), nullptr, {.memory_bandwidth = 0.5}).time,
            microseconds(2));
}

TEST(ComputeTime, AMissingFormatIsComputedInTheNextThatHoldsIt) {
  const DeviceSpec v = v100();
  const DeviceSpec a = a100();
  EXPECT_EQ(computed_dtype(v, Dtype::kBf16), Dtype::kFp32);
  EXPECT_EQ(computed_dtype(v, Dtype::kTf32), Dtype::kFp32);
  EXPECT_EQ(computed_dtype(v, Dtype::kFp8), Dtype::kFp16);
  EXPECT_EQ(computed_dtype(v, Dtype::kInt8), Dtype::kFp16);
  EXPECT_EQ(computed_dtype(v, Dtype::kFp16), Dtype::kFp16);
  EXPECT_EQ(computed_dtype(a, Dtype::kFp8), Dtype::kFp16);
  EXPECT_EQ(computed_dtype(a, Dtype::kBf16), Dtype::kBf16);
  EXPECT_EQ(computed_dtype(gpu(0, {{Dtype::kFp32, 1}}, 1), Dtype::kFp64), Dtype::kFp32);
  EXPECT_EQ(computed_dtype(gpu(0, {}, 1), Dtype::kFp64), Dtype::kFp64);
  const ComputeTime bf16 = compute_time(v, op_of(1e12, 0, Dtype::kBf16), nullptr);
  EXPECT_EQ(bf16.time, compute_time(v, op_of(1e12), nullptr).time);
  EXPECT_EQ(note_text(v, Dtype::kBf16, bf16), "gpu-70 has no bf16: computed in fp32");
  EXPECT_EQ(note_text(v, Dtype::kFp32, compute_time(v, op_of(1e12), nullptr)), "");
}

TEST(ComputeTime, SaysWhenNothingIsKnown) {
  const DeviceSpec blank = gpu(0, {}, 0);
  const ComputeTime no_peak = compute_time(blank, op_of(1e9), nullptr);
  EXPECT_EQ(no_peak.time, microseconds(5));
  EXPECT_EQ(note_text(blank, Dtype::kFp32, no_peak),
            "gpu-0 has no \"peak\": its FLOPs take no time");
  EXPECT_EQ(note_text(blank, Dtype::kFp32, compute_time(blank, op_of(0, 9), nullptr)),
            "gpu-0 has no \"memory_bandwidth\": its memory traffic takes no time");
}

TEST(ComputeTime, AMeasuredKernelWins) {
  DeviceSpec device = v100();
  device.kernels = {{512, 256, 128, Dtype::kFp32, microseconds(17)},
                    {512, 256, 128, Dtype::kFp16, microseconds(9)}};
  const Kernel kernel = gemm(512, 256, 128);
  const ComputeTime result = compute_time(device, op_of(0), &kernel);
  EXPECT_EQ(result.time, microseconds(17));
  EXPECT_EQ(result.bound, ComputeBound::kMeasured);
  EXPECT_EQ(compute_time(device, op_of(0, 0, Dtype::kFp16), &kernel).time, microseconds(9));
  EXPECT_EQ(compute_time(device, op_of(0), &kernel, {.compute = 0.5}).time, microseconds(34));
  const Kernel other = gemm(512, 256, 129);
  EXPECT_NE(compute_time(device, op_of(0), &other).bound, ComputeBound::kMeasured);
}

TEST(ComputeTime, ACurveIsLinearInTheLogarithmOfFlops) {
  DeviceSpec device = perfect();
  device.efficiency = {{"", std::nullopt, 1e8, 0.6}, {"", std::nullopt, 1e6, 0.2}};
  const auto fraction_at = [&](double flops) {
    return compute_time(device, op_of(flops), nullptr).efficiency;
  };
  EXPECT_NEAR(fraction_at(1e3), 0.2, 1e-12);
  EXPECT_NEAR(fraction_at(1e6), 0.2, 1e-12);
  EXPECT_NEAR(fraction_at(1e7), 0.4, 1e-12);
  EXPECT_NEAR(fraction_at(1e8), 0.6, 1e-12);
  EXPECT_NEAR(fraction_at(1e12), 0.6, 1e-12);
}

TEST(ComputeTime, TheCurveThatFitsBestIsTaken) {
  DeviceSpec device = perfect();
  device.efficiency = {{"", std::nullopt, 1, 0.1},
                       {"", Dtype::kFp32, 1, 0.2},
                       {"gemm", std::nullopt, 1, 0.3},
                       {"gemm", Dtype::kFp32, 1, 0.4},
                       {"backward", Dtype::kFp16, 1, 0.9}};
  const Kernel kernel = gemm(1000, 1000, 1000);
  const Kernel backward{KernelKind::kBackward, 0, 0, 0, "fc", std::nullopt};
  const auto fraction = [&](const Kernel* shape) {
    return compute_time(device, op_of(2e9), shape).efficiency;
  };
  EXPECT_NEAR(fraction(&kernel), 0.4, 1e-12);
  EXPECT_NEAR(fraction(&backward), 0.2, 1e-12);
  EXPECT_NEAR(fraction(nullptr), 0.2, 1e-12);
  device.efficiency.resize(1);
  EXPECT_NEAR(fraction(&kernel), 0.1, 1e-12);
  device.efficiency = {{"backward", Dtype::kFp16, 1, 0.9}};  // about something else
  EXPECT_NEAR(
      fraction(nullptr),
      efficiency_curve(efficiency_table(), device, EfficiencyKind::kGemm, Dtype::kFp32).most, 1e-9);
}

}  // namespace
}  // namespace twinrun
