#include "core/calibrate/measure_gpu_compute.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/base/check.h"
#include "core/base/diagnostics.h"
#include "core/calibrate/op_samples.h"
#include "core/calibrate/robust.h"
#include "core/calibrate/trained_shapes.h"
#include "core/model/catalogue.h"
#include "core/plan/plan_builder.h"
#include "core/strategy/strategies.h"

namespace twinrun {
namespace {

constexpr std::int64_t kWarmUp = 2;  // steps: libraries load kernels when they are first called
constexpr int kTensorCores = 70;
constexpr int kShortExponents = 80;  // bf16 and tf32

constexpr std::int64_t kSmallestCopy = 2 << 10;
// A GPU moves this in a fraction of what a launch takes, so that the line through such copies meets
// zero bytes at the launch.
constexpr double kNextToNothing = 256 << 10;

// a to b and back, and again: the second and the third layer have all three passes.
Plan training_plan(const TrainedShape& shape,
                   Dtype format,
                   std::int64_t steps,
                   const Topology& topology) {
  const auto model = catalogue_model(fmt::format("mlp-{0}-{1}-{0}-{1}", shape.a, shape.b));
  TWINRUN_CHECK(model.has_value());
  Job job;
  job.name = "calibration";
  job.parallelism.strategy = "single";
  job.training.local_batch_size = shape.samples;
  job.training.dtype = format;
  job.training.learning_rate = 1e-6;  // nothing may grow out of range
  job.host = {.launch = {}, .checkpoint = {}, .forward = {}, .backward = {}};  // no framework asks
  CompileOptions options;
  options.steps = kWarmUp + steps;
  options.for_execution = true;
  options.checks_waiting = false;
  options.trains_in_short_types = true;
  Diagnostics diagnostics;
  auto compiled = compile(job, *model, topology, options, diagnostics);
  TWINRUN_CHECK(compiled.has_value());
  return std::move(compiled->plan);
}

Plan copies_within_gpu(const GpuShapes& shapes) {
  PlanBuilder builder("calibration: copies within a GPU");
  const StreamId stream = builder.stream(builder.add_device("gpu0"), "compute");
  for (std::int64_t i = 0; i < kWarmUp + shapes.steps; ++i) {
    for (std::int64_t bytes = kSmallestCopy; bytes <= shapes.largest_copy; bytes *= 2) {
      builder.add_compute(fmt::format("step{}/copy{}@rank0", i, bytes), stream, {.bytes = {bytes}});
    }
  }
  return std::move(builder).finish();
}

// Where the line through small copies meets zero bytes.
Time launch_of(const std::vector<StreamingPoint>& streaming) {
  std::vector<double> bytes;
  std::vector<double> seconds;
  for (const StreamingPoint& point : streaming) {
    if (point.kind == "copy" && point.bytes <= kNextToNothing) {
      bytes.push_back(point.bytes);
      seconds.push_back(point.bytes / point.rate.bytes_per_s);
    }
  }
  constexpr double kNanosecondsInS = 1e9;
  const double seen = std::max(theil_sen(bytes, seconds).intercept, 0.0);
  return Time{std::llround(seen * kNanosecondsInS) * 1000};
}

class GpuComputeMeasurement {
 public:
  GpuComputeMeasurement(const RunPlan& run,
                        const GpuShapes& shapes,
                        const MeasureProgress& progress)
      : run_(run), shapes_(shapes), progress_(progress) {}

  ComputeSpeed measure(std::span<const Dtype> formats) {
    const std::vector<TrainedShape> trained = trained_shapes(shapes_.widths, shapes_.samples);
    samples_.resize(formats.size());
    plans_ = static_cast<std::size_t>(shapes_.rounds) * (formats.size() * trained.size() + 1);
    for (int round = 0; round < shapes_.rounds; ++round) {
      for (std::size_t i = 0; i < formats.size(); ++i) {
        for (const TrainedShape& shape : trained) {
          add(training_plan(shape, formats[i], shapes_.steps, topology_), samples_[i]);
        }
      }
      add(copies_within_gpu(shapes_), samples_.front());
    }
    return found(formats);
  }

 private:
  void add(const Plan& plan, OpSamples& samples) {
    if (progress_) {
      progress_("products, activations, copies", done_++, plans_);
    }
    samples.add(plan, run_(plan), {kWarmUp, true});
  }

  [[nodiscard]] ComputeSpeed found(std::span<const Dtype> formats) const {
    ComputeSpeed out;
    std::vector<double> spreads;
    for (std::size_t i = 0; i < formats.size(); ++i) {
      for (ProductGrid& grid : samples_[i].grids()) {
        grid.dtype = formats[i];
        out.products.push_back(std::move(grid));
      }
      spreads.push_back(samples_[i].spread_pct());
    }
    out.streaming = samples_.front().streaming();
    out.op_overhead = launch_of(out.streaming);
    out.spread_pct = median(std::move(spreads));
    return out;
  }

  const RunPlan& run_;
  const GpuShapes& shapes_;
  const MeasureProgress& progress_;
  const Topology topology_ = one_device(VertexKind::kGpu);
  std::vector<OpSamples> samples_;  // by format
  std::size_t plans_ = 0;
  std::size_t done_ = 0;
};

}  // namespace

std::vector<Dtype> formats_of_gpu(int sm) {
  std::vector<Dtype> out = {Dtype::kFp32};
  if (sm >= kTensorCores) {
    out.push_back(Dtype::kFp16);
  }
  if (sm >= kShortExponents) {
    out.push_back(Dtype::kTf32);
    out.push_back(Dtype::kBf16);
  }
  return out;
}

ComputeSpeed measure_gpu_compute(const RunPlan& run,
                                 const GpuShapes& shapes,
                                 std::span<const Dtype> formats,
                                 const MeasureProgress& progress) {
  return GpuComputeMeasurement(run, shapes, progress).measure(formats);
}

}  // namespace twinrun
