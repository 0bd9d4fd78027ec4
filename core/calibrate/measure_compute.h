#pragma once

#include <cstdint>
#include <vector>

#include "core/calibrate/run_plan.h"
#include "core/topology/spec.h"

namespace twinrun {

// Shapes that products are measured at.
struct ProductSizes {
  std::vector<std::uint32_t> widths = {8, 16, 32, 64, 128, 256, 384, 512, 768, 1024};  // of layers
  std::vector<std::uint32_t> samples = {2, 8, 16, 32, 64, 128, 256, 1024};             // of a batch
  int rounds = 2;  // over all shapes, so that a slow spell of the machine meets them once
  double seconds_a_plan = 0.02;  // of products, at a guess of what the device does
};

struct ComputeSpeed {
  std::vector<ProductGrid> products;      // forward, gradients of inputs and of weights
  std::vector<StreamingPoint> streaming;  // activations, updates, copies
  Time op_overhead{};                     // from the end of an op to the start of the next
  double spread_pct = 0;                  // of single ops around their median; the median of those
};

// FLOP/s of the best product in a format: nothing a device was seen to do is above its peak. 0 when
// there is none.
double best_product_rate(const ComputeSpeed& compute, Dtype format);

// Trains perceptrons of three layers, each of two widths in turn, on one device, and keeps the
// median of every op: the same kernels that a training job runs, with their operands where training
// leaves them. What a layer moves beside its products is measured with it.
ComputeSpeed measure_compute(const RunPlan& run,
                             const ProductSizes& sizes,
                             const MeasureProgress& progress = {});

}  // namespace twinrun
