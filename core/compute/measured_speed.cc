#include "core/compute/measured_speed.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>

namespace twinrun {
namespace {

const ProductGrid* grid_for(const DeviceSpec& device, std::string_view pass, Dtype dtype) {
  const ProductGrid* any = nullptr;
  for (const ProductGrid& grid : device.products) {
    if (grid.dtype == dtype && grid.pass == pass) {
      return &grid;
    }
    any = grid.dtype == dtype && grid.pass.empty() ? &grid : any;
  }
  return any;
}

// Two neighbours on an axis and how far a size lies between them, 0 … 1; the ends outside of it.
struct Between {
  std::size_t below = 0;
  std::size_t above = 0;
  double way = 0;
};

Between between(std::span<const std::uint32_t> axis, double size) {
  const auto above = std::lower_bound(axis.begin(), axis.end(), size);
  if (above == axis.begin()) {
    return {};
  }
  if (above == axis.end()) {
    return {axis.size() - 1, axis.size() - 1, 0};
  }
  const auto at = static_cast<std::size_t>(above - axis.begin());
  const double low = axis[at - 1];
  return {at - 1, at, std::log(size / low) / std::log(axis[at] / low)};
}

class GridReader {
 public:
  explicit GridReader(const ProductGrid& grid) : grid_(grid) {}

  // log(us / (m n k)) at a point.
  [[nodiscard]] double log_cost(std::size_t m, std::size_t n, std::size_t k) const {
    const double us = grid_.us[(m * grid_.n.size() + n) * grid_.k.size() + k];
    return std::log(us / (double{1} * grid_.m[m] * grid_.n[n] * grid_.k[k]));
  }

  [[nodiscard]] double log_cost(const Between& m, const Between& n, const Between& k) const {
    const auto along_k = [&](std::size_t i, std::size_t j) {
      return std::lerp(log_cost(i, j, k.below), log_cost(i, j, k.above), k.way);
    };
    const auto along_n = [&](std::size_t i) {
      return std::lerp(along_k(i, n.below), along_k(i, n.above), n.way);
    };
    return std::lerp(along_n(m.below), along_n(m.above), m.way);
  }

 private:
  const ProductGrid& grid_;
};

struct Neighbours {
  const StreamingPoint* below = nullptr;
  const StreamingPoint* above = nullptr;
};

Neighbours neighbours(const DeviceSpec& device, std::string_view kind, double bytes) {
  Neighbours found;
  for (const StreamingPoint& point : device.streaming) {
    if (point.kind != kind) {
      continue;
    }
    if (point.bytes <= bytes && (found.below == nullptr || point.bytes > found.below->bytes)) {
      found.below = &point;
    } else if (point.bytes > bytes &&
               (found.above == nullptr || point.bytes < found.above->bytes)) {
      found.above = &point;
    }
  }
  return found;
}

double rate_between(const Neighbours& found, double bytes) {
  if (found.below == nullptr || found.above == nullptr) {
    return (found.below != nullptr ? found.below : found.above)->rate.bytes_per_s;
  }
  const double way =
      std::log(bytes / found.below->bytes) / std::log(found.above->bytes / found.below->bytes);
  return std::exp(std::lerp(std::log(found.below->rate.bytes_per_s),
                            std::log(found.above->rate.bytes_per_s), way));
}

}  // namespace

std::string_view product_pass(const Kernel& kernel) {
  switch (kernel.kind) {
    case KernelKind::kForward:
      return "forward";
    case KernelKind::kBackward:
      return kernel.gradient == GradientOf::kInput    ? "input"
             : kernel.gradient == GradientOf::kWeight ? "weight"
                                                      : "";
    case KernelKind::kGemm:
    case KernelKind::kUpdate:
      return "";
  }
  return "";
}

std::string_view streaming_kind(const Kernel* kernel) {
  if (kernel == nullptr) {
    return "copy";
  }
  return kernel->kind == KernelKind::kGemm
             ? ""
             : kKernelKindNames[static_cast<std::size_t>(kernel->kind)];
}

std::optional<double> measured_product_s(const DeviceSpec& device,
                                         const Kernel& kernel,
                                         Dtype dtype) {
  const bool is_product = kernel.m > 0 && kernel.taps == 0;
  const ProductGrid* const grid =
      is_product ? grid_for(device, product_pass(kernel), dtype) : nullptr;
  if (grid == nullptr) {
    return std::nullopt;
  }
  const double log_cost = GridReader(*grid).log_cost(
      between(grid->m, kernel.m), between(grid->n, kernel.n), between(grid->k, kernel.k));
  return std::exp(log_cost) * kernel.m * kernel.n * kernel.k * 1e-6;
}

std::optional<double> measured_streaming_s(const DeviceSpec& device,
                                           const Kernel* kernel,
                                           double bytes) {
  for (const std::string_view kind : {streaming_kind(kernel), std::string_view()}) {
    const Neighbours found = neighbours(device, kind, bytes);
    if (found.below != nullptr || found.above != nullptr) {
      return bytes / rate_between(found, bytes);
    }
  }
  return std::nullopt;
}

}  // namespace twinrun
