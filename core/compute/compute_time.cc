#include "core/compute/compute_time.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "core/compute/gpu_family.h"
#include "core/compute/measured_speed.h"
#include "core/compute/product_time.h"

namespace twinrun {
namespace {

double peak_of(const DeviceSpec& device, Dtype dtype) {
  return device.peak[static_cast<std::size_t>(dtype)].flop_per_s;
}

bool has_shape(const Kernel* kernel) { return kernel != nullptr && kernel->m > 0; }

// What the op asks of the device.
struct Work {
  double flops = 0;
  double bytes = 0;
};

Work work_of(const ComputeOp& op, const Kernel* kernel) {
  Work work{op.flops, static_cast<double>(op.bytes.count)};
  if (has_shape(kernel) && work.flops == 0 && work.bytes == 0) {
    const double m = kernel->m;
    const double n = kernel->n;
    const double k = kernel->k;
    work.flops = 2 * m * n * k;
    work.bytes = static_cast<double>(stored_bytes(op.dtype)) * (m * k + k * n + m * n);
  }
  return work;
}

Time saturated(double seconds) {
  const double ps = std::ceil(seconds * 1e12);
  constexpr auto kLongest = std::numeric_limits<std::int64_t>::max();
  return {ps < static_cast<double>(kLongest) ? static_cast<std::int64_t>(ps) : kLongest};
}

// A GEMM whose time the device's table knows.
std::optional<double> known_s(const DeviceSpec& device, const Kernel* kernel, Dtype dtype) {
  if (!has_shape(kernel)) {
    return std::nullopt;
  }
  for (const MeasuredKernel& one : device.kernels) {
    if (one.m == kernel->m && one.n == kernel->n && one.k == kernel->k && one.dtype == dtype) {
      return to_seconds(one.time);
    }
  }
  return std::nullopt;
}

// What was measured on the device itself: this very kernel, or others near to it.
std::optional<double> measured_s(const DeviceSpec& device,
                                 const ComputeOp& op,
                                 const Kernel* kernel,
                                 const ComputeScales& scales) {
  if (const auto known = known_s(device, kernel, op.dtype)) {
    return *known / scales.compute;
  }
  const Work work = work_of(op, kernel);
  if (has_shape(kernel)) {
    const auto once = measured_product_s(device, *kernel, op.dtype);
    const double count =
        work.flops / (2.0 * kernel->m * kernel->n * kernel->k);  // attention has many alike
    return once ? std::optional(*once * std::max(count, 1.0) / scales.compute) : std::nullopt;
  }
  if (work.bytes <= 0) {
    return std::nullopt;
  }
  const auto streaming = measured_streaming_s(device, kernel, work.bytes);
  return streaming ? std::optional(*streaming / scales.memory_bandwidth) : std::nullopt;
}

// How well a point of the device's own curve fits: 3 for the very kind and format, down to 0 for
// any of both; less than 0 when it is about another.
int fit_of(const EfficiencyPoint& point, std::string_view kind, Dtype dtype) {
  if ((!point.kind.empty() && point.kind != kind) || (point.dtype && *point.dtype != dtype)) {
    return -1;
  }
  return (point.kind.empty() ? 0 : 2) + (point.dtype ? 1 : 0);
}

// Between the two nearest points on a logarithmic scale of FLOPs; level outside of them.
double between(const EfficiencyPoint& below, const EfficiencyPoint& above, double flops) {
  if (below.flops <= 0 || above.flops <= below.flops) {
    return above.fraction;
  }
  const double way = std::log(flops / below.flops) / std::log(above.flops / below.flops);
  return below.fraction + way * (above.fraction - below.fraction);
}

// The device's own curve; nothing when it has none that fits. Only the points that fit best count.
std::optional<double> own_efficiency(const DeviceSpec& device,
                                     const Kernel* kernel,
                                     Dtype dtype,
                                     double flops) {
  const bool is_matrix = has_shape(kernel) && kernel->taps == 0;
  const std::string_view kind = is_matrix ? "gemm"
                                : kernel != nullptr
                                    ? kKernelKindNames[static_cast<std::size_t>(kernel->kind)]
                                    : "";
  int best = 0;
  bool any = false;
  for (const EfficiencyPoint& point : device.efficiency) {
    any = any || fit_of(point, kind, dtype) >= 0;
    best = std::max(best, fit_of(point, kind, dtype));
  }
  if (!any) {
    return std::nullopt;
  }
  const EfficiencyPoint* below = nullptr;
  const EfficiencyPoint* above = nullptr;
  for (const EfficiencyPoint& point : device.efficiency) {
    if (fit_of(point, kind, dtype) != best) {
      continue;
    }
    if (point.flops <= flops && (below == nullptr || point.flops > below->flops)) {
      below = &point;
    } else if (point.flops > flops && (above == nullptr || point.flops < above->flops)) {
      above = &point;
    }
  }
  if (below == nullptr) {
    return above->fraction;
  }
  return above == nullptr ? below->fraction : between(*below, *above, flops);
}

// Where the time of an op goes.
struct Parts {
  double compute_s = 0;
  double memory_s = 0;
  double total_s = 0;
};

Parts longer_of(double compute_s, double memory_s) {
  return {compute_s, memory_s, std::max(compute_s, memory_s)};
}

// `rates` are those of the instance: peak 0 or memory rate 0 when not known.
Parts modelled(const DeviceSpec& device,
               const Kernel* kernel,
               const ProductWork& work,
               const EfficiencyTable& table) {
  const double memory_s = work.bytes > 0 && work.memory_rate > 0 ? work.bytes / work.memory_rate
                          : work.bytes > 0 && device.memory_bandwidth.bytes_per_s > 0
                              ? std::numeric_limits<double>::infinity()
                              : 0;
  if (work.flops <= 0 || peak_of(device, work.dtype) <= 0) {
    return longer_of(0, memory_s);
  }
  const double at_peak_s = work.flops / work.peak;
  if (const auto own = own_efficiency(device, kernel, work.dtype, work.flops)) {
    return longer_of(at_peak_s / *own, memory_s);
  }
  if (!has_shape(kernel) || std::isinf(memory_s)) {
    const EfficiencyCurve curve =
        efficiency_curve(table, device, EfficiencyKind::kGemm, work.dtype);
    return longer_of(at_peak_s / curve.most, memory_s);
  }
  const ProductTime product = product_time(device, work, *kernel, table);
  return {product.compute_s, product.memory_s + product.other_s, product.total_s()};
}

ComputeNote note_of(const DeviceSpec& device, const ComputeOp& op, const ProductWork& work) {
  if (work.flops > 0 && peak_of(device, work.dtype) <= 0) {
    return ComputeNote::kNoPeak;
  }
  if (work.flops > 0 && work.dtype != op.dtype) {
    return ComputeNote::kOtherDtype;
  }
  if (work.bytes > 0 && device.memory_bandwidth.bytes_per_s <= 0) {
    return ComputeNote::kNoMemoryBandwidth;
  }
  return ComputeNote::kNone;
}

}  // namespace

Dtype computed_dtype(const DeviceSpec& device, Dtype wanted) {
  // Each before those that hold all its values.
  constexpr std::array kEight = {Dtype::kFp16, Dtype::kBf16, Dtype::kTf32, Dtype::kFp32,
                                 Dtype::kFp64};
  const auto wider =
      std::span<const Dtype>(kEight).subspan(wanted == Dtype::kFp8 || wanted == Dtype::kInt8    ? 0
                                             : wanted == Dtype::kFp16 || wanted == Dtype::kBf16 ? 2
                                             : wanted == Dtype::kTf32                           ? 3
                                                                      : 4);
  if (peak_of(device, wanted) > 0) {
    return wanted;
  }
  for (const Dtype dtype : wider) {
    if (peak_of(device, dtype) > 0) {
      return dtype;
    }
  }
  for (std::size_t i = 0; i < device.peak.size(); ++i) {
    if (device.peak[i].flop_per_s > 0) {
      return static_cast<Dtype>(i);
    }
  }
  return wanted;
}

ComputeTime compute_time(const DeviceSpec& device,
                         const ComputeOp& op,
                         const Kernel* kernel,
                         const ComputeScales& scales) {
  return compute_time(device, op, kernel, scales, efficiency_table(device.leave_out));
}

ComputeTime compute_time(const DeviceSpec& device,
                         const ComputeOp& op,
                         const Kernel* kernel,
                         const ComputeScales& scales,
                         const EfficiencyTable& table) {
  const Work asked = work_of(op, kernel);
  ComputeTime result;
  result.dtype = computed_dtype(device, op.dtype);
  const ProductWork work{asked.flops,
                         asked.bytes,
                         static_cast<double>(stored_bytes(op.dtype)),
                         peak_of(device, result.dtype) * scales.compute,
                         device.memory_bandwidth.bytes_per_s * scales.memory_bandwidth *
                             memory_share(family_of(device)),
                         result.dtype};
  double seconds = 0;
  if (const auto measured = measured_s(device, op, kernel, scales)) {
    seconds = *measured;
    result.bound = ComputeBound::kMeasured;
  } else {
    const Parts parts = modelled(device, kernel, work, table);
    const double launch = to_seconds(device.launch_overhead);
    seconds = parts.total_s + launch;
    result.bound = parts.total_s <= launch             ? ComputeBound::kLaunch
                   : parts.compute_s >= parts.memory_s ? ComputeBound::kCompute
                                                       : ComputeBound::kMemory;
    result.note = note_of(device, op, work);
  }
  result.time = saturated(seconds);
  if (work.flops > 0 && work.peak > 0 && seconds > 0) {
    result.efficiency = work.flops / (work.peak * seconds);
  }
  return result;
}

std::string note_text(const DeviceSpec& device, Dtype wanted, const ComputeTime& result) {
  switch (result.note) {
    case ComputeNote::kNone:
      return "";
    case ComputeNote::kOtherDtype:
      return fmt::format("{} has no {}: computed in {}", device.name, name_of(wanted),
                         name_of(result.dtype));
    case ComputeNote::kNoPeak:
      return fmt::format("{} has no \"peak\": its FLOPs take no time", device.name);
    case ComputeNote::kNoMemoryBandwidth:
      return fmt::format("{} has no \"memory_bandwidth\": its memory traffic takes no time",
                         device.name);
  }
  return "";
}

}  // namespace twinrun
