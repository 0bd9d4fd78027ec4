#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/dtype.h"
#include "core/calibrate/measure_compute.h"
#include "core/calibrate/run_plan.h"

namespace twinrun {

// Shapes that a GPU's kernels are measured at: from such as are all launch to such as fill it.
struct GpuShapes {
  std::vector<std::uint32_t> widths = {64, 256, 1024, 4096};   // of layers
  std::vector<std::uint32_t> samples = {32, 256, 2048, 8192};  // of a batch
  std::int64_t steps = 6;                                      // that count, of each shape
  std::int64_t largest_copy = std::int64_t{256} << 20;         // bytes, half read and half written
  int rounds = 2;  // over all shapes, so that a slow spell of the GPU meets them once
};

// Formats that a GPU of this compute capability (times ten) multiplies in faster than it emulates
// them, of those that the backend has. Fp32 is always the first.
std::vector<Dtype> formats_of_gpu(int sm);

// Trains perceptrons on the first GPU, in every format, and copies within its memory: products by
// shape, format and pass; passes over memory by kind and bytes, in fp32. `op_overhead` is what an
// op costs that moves next to nothing: its launch, and the events around it.
ComputeSpeed measure_gpu_compute(const RunPlan& run,
                                 const GpuShapes& shapes,
                                 std::span<const Dtype> formats,
                                 const MeasureProgress& progress = {});

}  // namespace twinrun
