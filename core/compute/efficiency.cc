#include "core/compute/efficiency.h"

#include <algorithm>
#include <array>

#include "core/base/check.h"

namespace twinrun {
namespace {

constexpr auto kGemmRows = std::to_array<GemmRow>({
#include "core/compute/gemm_efficiency.inc"
});
constexpr auto kConvRows = std::to_array<ConvRow>({
#include "core/compute/conv_efficiency.inc"
});

constexpr std::array<std::string_view, 8> kFittedTables = {
    "gemm_deepbench",
    "gemm_a100_vs_size_figure",
    "matmul_peak_achieved_mamf",
    "single_gpu_batch_sweep_mxnet",
    "single_gpu_cnn_fwd_bwd_torch",
    "tf_benchmarks_p100_k80",
    "training_scaling_nvidia_dle",
    "gpipe_torchgpipe_p40",
};

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

const GemmRow* find_gemm(const EfficiencyTable& table, GpuFamily family, Dtype dtype) {
  for (const Dtype similar : similar_dtypes(dtype)) {
    const GemmRow* whole = nullptr;
    for (const GemmRow& row : table.gemms) {
      if (row.family != family || row.dtype != similar) {
        continue;
      }
      if (row.without == table.without) {
        return &row;
      }
      whole = row.without.empty() ? &row : whole;
    }
    if (whole != nullptr) {
      return whole;
    }
  }
  return nullptr;
}

const GemmRow& gemm_row(const EfficiencyTable& table, const DeviceSpec& device, Dtype dtype) {
  const GpuFamily family = family_of(device);
  const bool is_cpu = family == GpuFamily::kCpu;  // one guess for all formats
  for (const GpuFamily from : {family, is_cpu ? family : GpuFamily::kAnyGpu}) {
    if (const GemmRow* row = find_gemm(table, from, is_cpu ? Dtype::kFp32 : dtype)) {
      return *row;
    }
  }
  TWINRUN_CHECK(false && "the table has rows for CPUs, and for any GPU in fp32 and fp16");
  return table.gemms.front();
}

const ConvRow& conv_row(const EfficiencyTable& table, ConvHardware hardware) {
  const ConvRow* whole = nullptr;
  for (const ConvRow& row : table.convs) {
    if (row.hardware == hardware && row.without == table.without) {
      return row;
    }
    whole = row.hardware == hardware && row.without.empty() ? &row : whole;
  }
  TWINRUN_CHECK(whole != nullptr);
  return *whole;
}

}  // namespace

ConvHardware conv_hardware_of(const DeviceSpec& device, Dtype dtype) {
  switch (family_of(device)) {
    case GpuFamily::kCpu:
      return ConvHardware::kCpu;
    case GpuFamily::kKepler:
      return ConvHardware::kKepler;
    case GpuFamily::kMaxwell:
    case GpuFamily::kPascal:
    case GpuFamily::kConsumer:
      return ConvHardware::kBeforeVolta;
    default:
      return has_tensor_cores(device, dtype) ? ConvHardware::kTensorCores
                                             : ConvHardware::kSinceVolta;
  }
}

EfficiencyTable efficiency_table(std::string_view without) {
  // Our own text of the name: the caller's may be gone when the table is asked.
  const auto* const known = std::find(kFittedTables.begin(), kFittedTables.end(), without);
  return {kGemmRows, kConvRows, known != kFittedTables.end() ? *known : std::string_view()};
}

std::span<const std::string_view> fitted_tables() { return kFittedTables; }

EfficiencyCurve efficiency_curve(const EfficiencyTable& table,
                                 const DeviceSpec& device,
                                 EfficiencyKind kind,
                                 Dtype dtype) {
  const EfficiencyCurve& gemm = gemm_row(table, device, dtype).curve;
  if (kind == EfficiencyKind::kGemm) {
    return gemm;
  }
  const ConvRow& conv = conv_row(table, conv_hardware_of(device, dtype));
  return {gemm.most * conv.share, conv.tile, conv.half_dim, conv.setup_us};
}

}  // namespace twinrun
