#include "core/calibrate/measure_compute.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/base/check.h"
#include "core/base/diagnostics.h"
#include "core/calibrate/op_samples.h"
#include "core/calibrate/trained_shapes.h"
#include "core/model/catalogue.h"
#include "core/plan/plan_builder.h"
#include "core/strategy/strategies.h"

namespace twinrun {
namespace {

constexpr std::int64_t kSkippedSteps = 2;  // first touches of memory
constexpr std::int64_t kFewestSteps = 5;
constexpr std::int64_t kMostSteps = 40;
constexpr double kGuessedFlops = 50e9;  // a second; only the number of steps depends on it
constexpr double kGuessedRate = 10e9;   // bytes a second
constexpr std::int64_t kLargestCopy = 16 << 20;
// An update finds weights and gradients where a step of so many samples has left them. After fewer
// they are still in the nearest cache, as in no training that is worth its while.
constexpr std::uint32_t kSamplesForUpdates = 32;

// a to b and back, and again: the second and the third layer have all three passes.
Plan training_of(const TrainedShape& shape, double seconds, const Topology& topology) {
  const auto model = catalogue_model(fmt::format("mlp-{0}-{1}-{0}-{1}", shape.a, shape.b));
  TWINRUN_CHECK(model.has_value());
  Job job;
  job.name = "calibration";
  job.parallelism.strategy = "single";
  job.training.local_batch_size = shape.samples;
  job.training.learning_rate = 1e-6;  // nothing may grow out of range, however many steps
  const double flops = 16.0 * shape.a * shape.b * shape.samples;  // eight products
  const auto steps = std::clamp<std::int64_t>(std::llround(seconds * kGuessedFlops / flops),
                                              kFewestSteps, kMostSteps);
  Diagnostics diagnostics;
  auto compiled = compile(job, *model, topology, {kSkippedSteps + steps, true, false}, diagnostics);
  TWINRUN_CHECK(compiled.has_value());
  return std::move(compiled->plan);
}

// Ops that pass over so many bytes, half read and half written, each after a pass over all of the
// memory: a copy in training finds its data in no near cache either. Another device helps to write
// the memory first: what nobody wrote is one page of zeros, which every cache holds.
Plan copies_of(std::int64_t bytes, double seconds) {
  const auto count = std::clamp<std::int64_t>(
      std::llround(seconds * kGuessedRate / static_cast<double>(bytes + kLargestCopy)),
      kFewestSteps, kMostSteps);
  PlanBuilder builder("calibration: copies");
  const std::vector<DeviceId> devices = {builder.add_device("cpu0"), builder.add_device("cpu1")};
  const GroupId both = builder.add_group("both", devices);
  for (const DeviceId device : devices) {
    builder.add_collective(fmt::format("write@{}", index_of(device)),
                           builder.stream(device, "compute"),
                           {.group = both, .bytes = {kLargestCopy / 2}, .algorithm = "ring"});
  }
  const StreamId stream = builder.stream(devices[0], "compute");
  for (std::int64_t i = 0; i < kSkippedSteps + count; ++i) {
    builder.add_compute(fmt::format("step{}/pass@rank0", i), stream, {.bytes = {kLargestCopy}});
    builder.add_compute(fmt::format("step{}/copy@rank0", i), stream, {.bytes = {bytes}});
  }
  return std::move(builder).finish();
}

std::vector<std::int64_t> copy_sizes() {
  constexpr std::int64_t kSmallest = 2 << 10;
  std::vector<std::int64_t> out;
  for (std::int64_t bytes = kSmallest; bytes <= kLargestCopy; bytes *= 2) {
    out.push_back(bytes);
  }
  return out;
}

double best_rate(const ProductGrid& grid) {
  double best = 0;
  std::size_t i = 0;
  for (const double m : grid.m) {
    for (const double n : grid.n) {
      for (const double k : grid.k) {
        best = std::max(best, 2 * m * n * k / (grid.us[i++] * 1e-6));
      }
    }
  }
  return best;
}

}  // namespace

double best_product_rate(const ComputeSpeed& compute, Dtype format) {
  double best = 0;
  for (const ProductGrid& grid : compute.products) {
    best = std::max(best, grid.dtype == format ? best_rate(grid) : 0);
  }
  return best;
}

ComputeSpeed measure_compute(const RunPlan& run,
                             const ProductSizes& sizes,
                             const MeasureProgress& progress) {
  const Topology topology = one_device(VertexKind::kCpu);
  const std::vector<TrainedShape> shapes = trained_shapes(sizes.widths, sizes.samples);
  const std::vector<std::int64_t> copies = copy_sizes();
  const std::size_t plans =
      static_cast<std::size_t>(sizes.rounds) * (shapes.size() + copies.size());
  std::size_t done = 0;
  OpSamples samples;
  const auto add = [&](const Plan& plan, bool counts_updates) {
    if (progress) {
      progress("products, activations, copies", done++, plans);
    }
    samples.add(plan, run(plan), {kSkippedSteps, counts_updates});
  };
  for (int round = 0; round < sizes.rounds; ++round) {
    for (const TrainedShape& shape : shapes) {
      add(training_of(shape, sizes.seconds_a_plan, topology), shape.samples >= kSamplesForUpdates);
    }
    for (const std::int64_t bytes : copies) {
      add(copies_of(bytes, sizes.seconds_a_plan), true);
    }
  }
  return {samples.grids(), samples.streaming(), samples.op_overhead(), samples.spread_pct()};
}

}  // namespace twinrun
