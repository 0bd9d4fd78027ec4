#pragma once

#include "core/compute/efficiency.h"
#include "core/plan/op.h"
#include "core/topology/spec.h"

namespace twinrun {

// What a product asks of a device, and what the device gives.
struct ProductWork {
  double flops = 0;
  double bytes = 0;  // of all kernels of the op
  double element_bytes = 4;
  double peak = 0;         // FLOP/s in the format it is computed in
  double memory_rate = 0;  // bytes/s reached; 0: not known
  Dtype dtype = Dtype::kFp32;
};

struct ProductTime {
  double compute_s = 0;
  double memory_s = 0;  // the product's own traffic
  double other_s = 0;   // kernels beside it: set-up, and bytes that are not the product's
  [[nodiscard]] double total_s() const;
};

// The time of (m × k) · (k × n), done as often as the FLOPs say:
//
//   compute = FLOPs / (peak · most · d / (d + half_dim)) + 2 · tile² · k' / peak of a
//   multiprocessor total   = √(compute² + memory²) + what other kernels of the op move
//
// d is the smallest dimension: thin products leave parts of each tile idle. The second term is the
// last tile, on which most of the device waits; k' is k, at most 1500: beyond, libraries split it.
// Loading and computing overlap, but neither hides the other wholly when they take about as long.
//
// A convolution is the product of its unrolled input with its weights, except that
//  - in fp32 a window of 3 × 3 or 5 × 5 at stride 1 may go through Winograd's transformation: a
//    quarter of the multiplications for two more passes over 2.25 times the input and output (5 ×
//    5: four twenty-fifths, over four times);
//  - the gradient of the weights sums over all samples and positions in pieces, which are stored
//    and added;
//  - the gradient of a strided convolution's input multiplies the zeros between its outputs;
//  - tensor cores take channels in eights, and in tf32 (kept as images by frameworks, where tensor
//    cores want channels last) its input and output are transposed.
ProductTime product_time(const DeviceSpec& device,
                         const ProductWork& work,
                         const Kernel& kernel,
                         const EfficiencyTable& table);

}  // namespace twinrun
