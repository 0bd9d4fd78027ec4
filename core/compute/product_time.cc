#include "core/compute/product_time.h"

#include <algorithm>
#include <cmath>

namespace twinrun {
namespace {

constexpr double kLongestPiece = 1500;  // of k, between DeepBench's GEMMs on V100 fp32 and fp16

// Of convolutions, fitted to the 2,700 kernel times of DeepBench on eight GPUs (cuDNN 5.1 to 7.6,
// baidu-research/DeepBench, results/train); medians of what each GPU by itself gives.
constexpr double kWeightFlops = 1.2;        // 0.9 to 1.5
constexpr double kWeightBytes = 3;          // fp32: 2.3 to 3.9
constexpr double kWeightBytesTensor = 1.2;  // 0.6 to 1.6
constexpr double kStridedFlops = 2.7;       // fp32: 2 to 4
constexpr double kStridedFlopsTensor = 1.6;
constexpr double kWinogradWeight = 1.5;  // 1 to 2.5

// Winograd's F(4 × 4, r × r) multiplies (r + 3)² times for 4 · 4 outputs instead of 16 r² times,
// and reads and writes (r + 3)² / 16 of the elements between its three steps (Lavin and Gray,
// arXiv:1509.09308). cuDNN has it for windows of 3 × 3 and 5 × 5 at stride 1.
constexpr double kWinogradOutputs = 16;
double winograd_tile(double taps) {
  const double side = std::sqrt(taps) + 3;
  return side * side;
}
bool has_winograd(double taps) { return taps == 9 || taps == 25; }

constexpr double kTransposes = 2;  // each reads and writes once
constexpr double kChannelsOfTensorCores = 8;

struct Shape {
  double m = 0;
  double n = 0;
  double k = 0;
  double taps = 0;
  double stride = 1;
  GradientOf gradient = GradientOf::kAll;

  [[nodiscard]] double smallest() const { return std::min({m, n, k}); }
  [[nodiscard]] bool is_conv() const { return taps > 0; }
  [[nodiscard]] bool is_weight() const { return gradient == GradientOf::kWeight; }

  // Elements of both factors and the product. The unrolled images of a convolution are never
  // stored: each element is there once, not once for each position of the window over it.
  [[nodiscard]] double elements() const {
    if (!is_conv()) {
      return m * k + k * n + m * n;
    }
    const double area = stride * stride;
    if (is_weight()) {  // gradient of the output m × k, input, weights m × n
      return m * k + k * area * n / taps + m * n;
    }
    const bool is_input = gradient == GradientOf::kInput;
    return m * k / taps * (is_input ? 1 : area) + k * n * (is_input ? area : 1) + m * n;
  }

  [[nodiscard]] double channels() const { return (is_weight() ? n : k) / taps; }
};

Shape shape_of(const Kernel& kernel) {
  return {static_cast<double>(kernel.m),      static_cast<double>(kernel.n),
          static_cast<double>(kernel.k),      static_cast<double>(kernel.taps),
          static_cast<double>(kernel.stride), kernel.gradient};
}

double quadrature(double a, double b) { return std::sqrt(a * a + b * b); }

struct Rates {
  EfficiencyCurve curve;
  double last_tile_s = 0;  // for each element of k
  double memory_s = 0;     // of the product's own bytes
};

double large_s(const Shape& shape, const ProductWork& work, const EfficiencyCurve& curve) {
  const double dim = shape.smallest();
  return work.flops / (work.peak * curve.most * dim / (dim + curve.half_dim));
}

double last_tile_s(double k, const Rates& rates) {
  return rates.last_tile_s * std::min(k, kLongestPiece);
}

// As a product of the unrolled input.
ProductTime direct(const Shape& shape, const ProductWork& work, const Rates& rates, bool tensor) {
  double compute = large_s(shape, work, rates.curve);
  double memory = rates.memory_s;
  if (shape.is_weight()) {
    compute *= kWeightFlops;
    memory *= tensor ? kWeightBytesTensor : kWeightBytes;
  }
  if (shape.stride > 1 && shape.gradient == GradientOf::kInput) {
    compute *= tensor ? kStridedFlopsTensor : kStridedFlops;
  }
  if (tensor) {
    const double channels = shape.channels();
    compute *= std::ceil(channels / kChannelsOfTensorCores) * kChannelsOfTensorCores / channels;
  }
  if (work.dtype == Dtype::kTf32) {
    memory += kTransposes * rates.memory_s;
  }
  return {compute + last_tile_s(shape.k, rates), memory, 0};
}

// Three kernels one after the other: transform, multiply, transform back.
ProductTime winograd(const Shape& shape, const ProductWork& work, const Rates& rates) {
  const double slower = shape.is_weight() ? kWinogradWeight : 1;
  const double tile = winograd_tile(shape.taps);
  const double saving = shape.taps * kWinogradOutputs / tile;
  return {
      slower * large_s(shape, work, rates.curve) / saving + last_tile_s(shape.k / saving, rates), 0,
      (1 + tile / kWinogradOutputs) * rates.memory_s};
}

ProductTime conv(const Shape& shape, const ProductWork& work, const Rates& rates, bool tensor) {
  const ProductTime plain = direct(shape, work, rates, tensor);
  const bool may_transform =
      work.dtype == Dtype::kFp32 && has_winograd(shape.taps) && shape.stride == 1;
  if (!may_transform) {
    return plain;
  }
  const ProductTime fast = winograd(shape, work, rates);
  return fast.total_s() < plain.total_s() ? fast : plain;
}

}  // namespace

double ProductTime::total_s() const { return quadrature(compute_s, memory_s) + other_s; }

ProductTime product_time(const DeviceSpec& device,
                         const ProductWork& work,
                         const Kernel& kernel,
                         const EfficiencyTable& table) {
  const Shape shape = shape_of(kernel);
  const auto kind = shape.is_conv() ? EfficiencyKind::kConv : EfficiencyKind::kGemm;
  const EfficiencyCurve curve = efficiency_curve(table, device, kind, work.dtype);
  const double count = std::max(work.flops / (2 * shape.m * shape.n * shape.k), 1.0);
  const double own = std::min(work.bytes, work.element_bytes * count * shape.elements());
  const auto seconds = [&](double bytes) {
    return work.memory_rate > 0 ? bytes / work.memory_rate : 0.0;
  };
  const Rates rates{curve, 2 * curve.tile * curve.tile * multiprocessors(device) / work.peak,
                    seconds(own)};
  ProductTime time = shape.is_conv()
                         ? conv(shape, work, rates, has_tensor_cores(device, work.dtype))
                         : ProductTime{large_s(shape, work, curve) + last_tile_s(shape.k, rates),
                                       rates.memory_s, 0};
  time.other_s += seconds(work.bytes - own) + curve.setup_us * 1e-6;
  return time;
}

}  // namespace twinrun
