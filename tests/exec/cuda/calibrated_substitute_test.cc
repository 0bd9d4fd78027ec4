#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/calibrate/compute_beside_sums.h"
#include "core/calibrate/measure_gpu_compute.h"
#include "core/calibrate/traffic_plan.h"
#include "exec/cuda/execute_on_cuda.h"
#include "tests/exec/cuda/substitute_gpus.h"
#include "tests/substitute/substitute.h"

// What a GPU costs is a table here, and time is that table's: whoever measures it through the
// plugin's own objects must find the table.

namespace twinrun::exec {
namespace {

using substitute::Picoseconds;
using substitute::Task;
using substitute::TaskKind;

// Whole numbers of a clock that survives milliseconds in single precision.
constexpr Picoseconds kLaunch = 3'000'000;
constexpr Picoseconds kProductLaunch = 5'000'000;
constexpr Picoseconds kPerByte = 2;          // copied within a GPU
constexpr Picoseconds kHostPerByte = 50;     // … to or from a host
constexpr Picoseconds kMessage = 9'000'000;  // and …
constexpr Picoseconds kWirePerByte = 20;
constexpr double kNearly = 1e-3;

Picoseconds cost_of(const Task& task) {
  const auto bytes = static_cast<Picoseconds>(task.bytes);
  switch (task.kind) {
    case TaskKind::kGemm:
      return kProductLaunch + task.m * task.n * task.k / 20;  // 40 TFLOP/s
    case TaskKind::kCopy: {
      const bool stays = task.from_device == task.to_device;
      return kLaunch + bytes * (stays ? kPerByte : kHostPerByte);
    }
    case TaskKind::kCollective:
    case TaskKind::kSend:
    case TaskKind::kReceive:
      return kMessage + bytes * kWirePerByte;
    case TaskKind::kKernel:
    case TaskKind::kFill:
    case TaskKind::kHostFunction:
      break;
  }
  return 0;
}

class CalibratedSubstitute : public testing::Test {
 protected:
  void SetUp() override { gpus_ = substitute_gpus(2); }

  [[nodiscard]] RunPlan run() const {
    return [this](const Plan& plan) {
      substitute::use_virtual_clock(true);
      substitute::set_cost(cost_of);
      CudaSetting setting{gpus_};
      setting.run.host_clock = [] { return Time{substitute::host_time()}; };
      ExecuteOptions options;
      options.run.timeout_s = 60;
      const Execution execution = execute_on_gpus(plan, options, setting);
      EXPECT_FALSE(execution.outcome.failure) << execution.outcome.failure->message;
      return execution.outcome.trace;
    };
  }

  std::shared_ptr<GpuRuntime> gpus_;
};

TEST_F(CalibratedSubstitute, TellsItsLaunchAndItsMemory) {
  GpuShapes shapes;
  shapes.widths = {16, 32};
  shapes.samples = {16, 32};
  shapes.steps = 3;
  shapes.largest_copy = 8 << 20;
  shapes.rounds = 1;
  const std::vector<Dtype> formats = {Dtype::kFp32};
  const ComputeSpeed found = measure_gpu_compute(run(), shapes, formats);
  EXPECT_NEAR(static_cast<double>(found.op_overhead.ps), kLaunch, 10'000);
  for (const StreamingPoint& point : found.streaming) {
    if (point.kind == "copy") {  // a half is read, a half is written
      const double ps = kLaunch + point.bytes / 2 * kPerByte;
      EXPECT_NEAR(point.rate.bytes_per_s, point.bytes / (ps * 1e-12), 0.01 * 1e12) << point.bytes;
    }
  }
}

TEST_F(CalibratedSubstitute, TellsItsProducts) {
  GpuShapes shapes;
  shapes.widths = {32, 64};
  shapes.samples = {16, 128};
  shapes.steps = 3;
  shapes.largest_copy = 4 << 10;
  shapes.rounds = 1;
  const std::vector<Dtype> formats = {Dtype::kFp32, Dtype::kTf32};
  const ComputeSpeed found = measure_gpu_compute(run(), shapes, formats);
  ASSERT_EQ(found.products.size(), 6U);
  for (const ProductGrid& grid : found.products) {
    std::size_t i = 0;
    for (const double m : grid.m) {
      for (const double n : grid.n) {
        for (const double k : grid.k) {
          const double us = (kProductLaunch + m * n * k / 20) * 1e-6;
          EXPECT_NEAR(grid.us[i++], us, 0.002) << grid.pass << " " << name_of(grid.dtype);
        }
      }
    }
  }
  EXPECT_EQ(found.products.front().dtype, Dtype::kFp32);
  EXPECT_EQ(found.products.back().dtype, Dtype::kTf32);
}

TEST_F(CalibratedSubstitute, TellsItsMessagesCopiesAndSums) {
  Traffic traffic;
  traffic.messages = telling_pairs({"gpu0", "gpu1"});
  traffic.copies = {{"gpu0", "cpu0"}, {"cpu0", "gpu1"}};
  traffic.summed = {"gpu0", "gpu1"};
  traffic.message_bytes = {4, 1 << 20};
  traffic.copy_bytes = {4, 1 << 20};
  traffic.sum_bytes = {4 << 10};
  traffic.rounds = 2;
  const Plan plan = traffic_plan(traffic);
  const Trace trace = run()(plan);
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const auto op = id_at<OpId>(i);
    const OpTimes& times = trace.ops[i];
    const bool is_copy = plan.kind(op) == OpKind::kCopy;
    const auto bytes =
        static_cast<double>(is_copy                                ? plan.copy(op).bytes.count
                            : plan.kind(op) == OpKind::kCollective ? plan.collective(op).bytes.count
                                                                   : plan.message(op).bytes.count);
    const double ps = is_copy ? kLaunch + bytes * kHostPerByte : kMessage + bytes * kWirePerByte;
    EXPECT_NEAR(static_cast<double>((times.end - times.start).ps), ps, kNearly * ps) << plan.id(op);
  }
  // One at a time, over all devices: those of a message or sum begin together, all others before.
  Time ended{};
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const Time before = i > 0 ? trace.ops[i - 1].start : Time{};
    const bool begins = i == 0 || trace.ops[i].start != before;
    EXPECT_TRUE(!begins || trace.ops[i].start >= ended) << plan.id(id_at<OpId>(i));
    ended = std::max(ended, trace.ops[i].end);
  }
}

TEST_F(CalibratedSubstitute, ComputesNoSlowerBesideSums) {
  BesideSums beside;
  beside.side = 64;
  beside.summed = {64 << 10};
  beside.sum_s = 10e-6;
  beside.rounds = 1;
  EXPECT_NEAR(measure_compute_beside_sums(run(), {"gpu0", "gpu1"}, beside), 1, kNearly);
}

}  // namespace
}  // namespace twinrun::exec
