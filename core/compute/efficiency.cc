#include "core/compute/efficiency.h"

#include <algorithm>
#include <array>

#include "core/base/check.h"

namespace twinrun {
namespace {

constexpr auto kEfficiencyTable = std::to_array<EfficiencyRow>({
#include "core/compute/efficiency_table.inc"
});

// A format and those whose kernels come nearest to its.
std::span<const Dtype> similar_dtypes(Dtype dtype) {
  static constexpr std::array kFp64 = {Dtype::kFp64, Dtype::kFp32};
  static constexpr std::array kFp32 = {Dtype::kFp32};
  static constexpr std::array kTf32 = {Dtype::kTf32, Dtype::kFp16};
  static constexpr std::array kFp16 = {Dtype::kFp16, Dtype::kBf16};
  static constexpr std::array kBf16 = {Dtype::kBf16, Dtype::kFp16};
  static constexpr std::array kEight = {Dtype::kFp8, Dtype::kFp16};
  switch (dtype) {
    case Dtype::kFp64:
      return kFp64;
    case Dtype::kFp32:
      return kFp32;
    case Dtype::kTf32:
      return kTf32;
    case Dtype::kFp16:
      return kFp16;
    case Dtype::kBf16:
      return kBf16;
    case Dtype::kFp8:
    case Dtype::kInt8:
      return kEight;
  }
  return kFp32;
}

const EfficiencyRow* find_row(GpuFamily family, EfficiencyKind kind, Dtype dtype) {
  for (const Dtype similar : similar_dtypes(dtype)) {
    for (const EfficiencyRow& row : kEfficiencyTable) {
      if (row.family == family && row.kind == kind && row.dtype == similar) {
        return &row;
      }
    }
  }
  return nullptr;
}

}  // namespace

GpuFamily family_of(const DeviceSpec& device) {
  if (device.kind != VertexKind::kGpu) {
    return GpuFamily::kCpu;
  }
  constexpr double kNoClockSurvives = 75;
  switch (device.sm) {
    case 50:
    case 52:
      return GpuFamily::kMaxwell;
    case 60:
      return GpuFamily::kPascal;
    case 70:
      return GpuFamily::kVolta;
    case 80:
      return GpuFamily::kAmpere;
    case 90:
      return GpuFamily::kHopper;
    case 100:
    case 103:
      return GpuFamily::kBlackwell;
    case 61:
    case 75:
    case 86:
    case 89:
    case 120:
      return device.watts > 0 && device.watts <= kNoClockSurvives ? GpuFamily::kLowPower
                                                                  : GpuFamily::kConsumer;
    default:
      return GpuFamily::kAnyGpu;
  }
}

std::span<const EfficiencyRow> efficiency_table() { return kEfficiencyTable; }

const EfficiencyRow& efficiency_row(const DeviceSpec& device, EfficiencyKind kind, Dtype dtype) {
  const GpuFamily family = family_of(device);
  if (family == GpuFamily::kCpu) {  // one guess for all formats
    const EfficiencyRow* row = find_row(family, kind, Dtype::kFp32);
    TWINRUN_CHECK(row != nullptr);
    return *row;
  }
  for (const EfficiencyKind tried : {kind, EfficiencyKind::kGemm}) {
    for (const GpuFamily from : {family, GpuFamily::kAnyGpu}) {
      if (const EfficiencyRow* row = find_row(from, tried, dtype)) {
        return *row;
      }
    }
  }
  TWINRUN_CHECK(false && "the table has a row for GEMMs of any GPU in fp32 and fp16");
  return kEfficiencyTable.front();
}

double efficiency_at(const EfficiencyCurve& curve, double at_peak_s, double smallest_dim) {
  const double at_peak_us = at_peak_s * 1e6;
  const double by_size =
      at_peak_us > 0 ? std::max(1 / (1 + curve.half_us / at_peak_us), kLeastShare) : kLeastShare;
  const double by_shape = smallest_dim > 0 ? smallest_dim / (smallest_dim + curve.half_dim) : 1;
  return curve.most * by_size * by_shape;
}

}  // namespace twinrun
