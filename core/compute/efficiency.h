#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/dtype.h"
#include "core/compute/gpu_family.h"
#include "core/topology/spec.h"

namespace twinrun {

enum class EfficiencyKind : std::uint8_t { kGemm, kConv };

// How well a device does products, see product_time.h.
struct EfficiencyCurve {
  double most = 1;      // of the peak, for large products
  double tile = 0;      // side of the square of outputs that a multiprocessor works on at a time
  double half_dim = 0;  // smallest dimension at which half is reached
  double setup_us = 0;  // kernels before and after the product, and until it is in full swing
};

// Products of matrices, by family and format.
struct GemmRow {
  GpuFamily family = GpuFamily::kAnyGpu;
  Dtype dtype = Dtype::kFp32;
  EfficiencyCurve curve;
  std::string_view source;
  std::string_view without;  // the table that was left out of this fit; "" for none
};

// Hardware whose libraries of convolutions are alike.
enum class ConvHardware : std::uint8_t { kCpu, kKepler, kBeforeVolta, kSinceVolta, kTensorCores };
ConvHardware conv_hardware_of(const DeviceSpec& device, Dtype dtype);

// Convolutions in whole training steps, relative to the products of the same device.
struct ConvRow {
  ConvHardware hardware = ConvHardware::kSinceVolta;
  double share = 1;  // of `most` of its matrices
  double tile = 0;
  double half_dim = 0;
  double setup_us = 0;
  std::string_view source;
  std::string_view without;
};

// Rows of the fit to all published tables, and those that differ when one is left out.
struct EfficiencyTable {
  std::span<const GemmRow> gemms;
  std::span<const ConvRow> convs;
  std::string_view without;
};

// Fitted to published measurements by tests/core/compute/fit_efficiency.cc; without one of them,
// so that it can be predicted honestly. A name that no fit used gives the whole fit.
EfficiencyTable efficiency_table(std::string_view without = {});
// Names of the tables that a fit used.
std::span<const std::string_view> fitted_tables();

// The curve for a device, or for its family in a similar format, or for any GPU.
EfficiencyCurve efficiency_curve(const EfficiencyTable& table,
                                 const DeviceSpec& device,
                                 EfficiencyKind kind,
                                 Dtype dtype);

}  // namespace twinrun
