#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/dtype.h"
#include "core/topology/spec.h"

namespace twinrun {

// GPUs whose kernels behave alike. Which one a device is follows from its compute capability.
enum class GpuFamily : std::uint8_t {
  kMaxwell,
  kPascal,
  kVolta,
  kAmpere,
  kHopper,
  kBlackwell,
  kConsumer,  // GeForce and their server cousins: 6.1, 7.5, 8.6, 8.9, 12.x
  kLowPower,  // at most 75 W, which no clock survives for long: T4
  kAnyGpu,
  kCpu,
};
GpuFamily family_of(const DeviceSpec& device);

// A GEMM of known shape, or a layer or unnamed op of which only FLOPs and bytes are known.
enum class EfficiencyKind : std::uint8_t { kGemm, kLayer };

// The share of its peak that a device reaches:
//
//   most · max(t / (t + half_us), kLeastShare) · d / (d + half_dim)
//
// with t the time of the op at peak and d the smallest of m, n and k: small ops leave parts of the
// device idle, thin ones parts of each tile.
struct EfficiencyCurve {
  double most = 1;
  double half_us = 0;
  double half_dim = 0;
};
inline constexpr double kLeastShare = 0.2;
// Of the memory bandwidth on paper; 757 to 772 of 900 GB/s copying within a V100 (measured by
// SuperBench, memcpy_v100_pcie_superbench).
inline constexpr double kMemoryEfficiency = 0.85;

struct EfficiencyRow {
  GpuFamily family = GpuFamily::kAnyGpu;
  EfficiencyKind kind = EfficiencyKind::kGemm;
  Dtype dtype = Dtype::kFp32;
  EfficiencyCurve curve;
  std::string_view source;
};

// Fitted to published measurements by tests/core/compute/fit_efficiency.py.
std::span<const EfficiencyRow> efficiency_table();
// The row for a device, or for its family in a similar format, or for any GPU.
const EfficiencyRow& efficiency_row(const DeviceSpec& device, EfficiencyKind kind, Dtype dtype);
// Seconds at peak, and the smallest dimension (0: not known).
double efficiency_at(const EfficiencyCurve& curve, double at_peak_s, double smallest_dim);

}  // namespace twinrun
