#include "exec/cuda/gpu_kernels.h"

#include <algorithm>
#include <mutex>

#include <fmt/format.h>

#include "core/base/diagnostics.h"

namespace twinrun::exec {
namespace {

constexpr std::size_t kHalf = 2;  // bytes
// Through the host where GPUs do not reach each other: in pieces, so that little memory is pinned.
constexpr std::size_t kMostStaged = std::size_t{4} << 20;  // elements

}  // namespace

ProductMode product_mode(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFp32:
      return ProductMode::kFp32;
    case Dtype::kTf32:
      return ProductMode::kTf32;
    case Dtype::kFp16:
      return ProductMode::kFp16;
    case Dtype::kBf16:
      return ProductMode::kBf16;
    case Dtype::kFp64:
    case Dtype::kFp8:
    case Dtype::kInt8:
      break;
  }
  throw CannotRun(
      fmt::format("products in {} are not there: fp32, tf32, fp16 and bf16 are", name_of(dtype)));
}

void GpuKernels::multiply(const MatrixProduct& product) {
  const ProductMode mode = product_mode(dtype_);
  const bool is_narrow = mode == ProductMode::kFp16 || mode == ProductMode::kBf16;
  const auto elements = static_cast<std::size_t>(product.m * product.k + product.k * product.n);
  void* const scratch =
      is_narrow ? machine_.scratch(id_, Scratch::kNarrow, elements * kHalf) : nullptr;
  if (is_measured()) {
    return machine_.will_multiply(id_);
  }
  if (product.m > 0 && product.n > 0 && product.k > 0) {
    runtime_.multiply(stream_, product, mode, scratch);
  }
}

void GpuKernels::spread_bias(std::span<const float> bias, std::int64_t rows, float* output) {
  if (!is_measured()) {
    runtime_.spread_bias(stream_, bias, rows, output);
  }
}

void GpuKernels::sum_rows(const float* from,
                          std::int64_t rows,
                          std::span<float> into,
                          bool accumulates) {
  if (!is_measured()) {
    runtime_.sum_rows(stream_, from, rows, into, accumulates);
  }
}

void GpuKernels::activate(Activation kind, std::span<const float> input, std::span<float> output) {
  if (!is_measured()) {
    runtime_.activate(stream_, kind, input, output);
  }
}

void GpuKernels::activate_backward(Activation kind,
                                   std::span<const float> output,
                                   std::span<const float> output_gradient,
                                   std::span<float> input_gradient) {
  if (!is_measured()) {
    runtime_.activate_backward(stream_, kind, output, output_gradient, input_gradient);
  }
}

void GpuKernels::losses(const LossRows& rows, std::span<double> on_host) {
  auto* const there =
      static_cast<double*>(machine_.scratch(id_, Scratch::kLosses, on_host.size_bytes()));
  if (is_measured() || on_host.empty()) {
    return;
  }
  runtime_.losses(stream_, rows, there);
  runtime_.copy(stream_, on_host.data(), there, on_host.size_bytes());
}

void GpuKernels::loss_gradient(const LossRows& rows, float* gradient) {
  if (!is_measured() && rows.rows > 0) {
    runtime_.loss_gradient(stream_, rows, gradient);
  }
}

TileLocks GpuKernels::locks(const float* pointer) const {
  return is_exclusive_ ? machine_.locks_for(pointer) : TileLocks{};
}

void GpuKernels::update(const UpdateNumbers& rule, const UpdatedArrays& arrays) {
  if (!is_measured()) {
    runtime_.update(stream_, rule, arrays, locks(arrays.weights.data()));
  }
}

void GpuKernels::copy(std::span<float> from, std::span<float> into, bool takes) {
  const DevicePlace& to = machine_.place(machine_.find(into.data()).device);
  const bool stays = !to.is_host && to.gpu == stream_.device;
  if (stays && !is_exclusive_ && !takes) {
    if (!is_measured() && !from.empty()) {
      runtime_.copy(stream_, into.data(), from.data(), from.size_bytes());
    }
    return;
  }
  if (stays) {
    if (!is_measured()) {
      runtime_.take(stream_, from, into, takes, locks(from.data()));
    }
    return;
  }
  if (!is_exclusive_ && !takes) {
    return copy_away(from, into, to);
  }
  auto* const scratch =
      static_cast<float*>(machine_.scratch(id_, Scratch::kDevice, from.size_bytes()));
  if (!is_measured()) {
    runtime_.take(stream_, from, {scratch, from.size()}, takes, locks(from.data()));
  }
  copy_away({scratch, from.size()}, into, to);
}

// To a host, or another GPU.
void GpuKernels::copy_away(std::span<const float> from,
                           std::span<float> into,
                           const DevicePlace& to) {
  if (!to.is_host && !machine_.reaches(stream_.device, to.gpu)) {
    return copy_in_pieces(from, into);
  }
  if (is_measured() || from.empty()) {
    return;
  }
  if (to.is_host) {
    runtime_.copy(stream_, into.data(), from.data(), from.size_bytes());
  } else {
    runtime_.copy_peer(stream_, into.data(), to.gpu, from.data(), from.size_bytes());
  }
}

void GpuKernels::copy_in_pieces(std::span<const float> from, std::span<float> into) {
  const std::size_t piece = std::min(from.size(), kMostStaged);
  void* const pinned = machine_.scratch(id_, Scratch::kPinned, piece * sizeof(float));
  for (std::size_t at = 0; at < from.size() && !is_measured(); at += piece) {
    const std::size_t bytes = std::min(piece, from.size() - at) * sizeof(float);
    runtime_.copy(stream_, pinned, from.data() + at, bytes);
    runtime_.copy(stream_, into.data() + at, pinned, bytes);
  }
}

void GpuKernels::add(std::span<float> from, std::span<float> into, bool takes) {
  const DeviceId device = machine_.find(into.data()).device;
  const DevicePlace& to = machine_.place(device);
  if (to.is_host) {
    add_on_host(from, into, device);
  } else if (to.gpu != stream_.device) {
    add_on_other(from, into, to);
  } else {
    if (!is_measured()) {
      runtime_.add(stream_, from, into, takes, locks(into.data()));
    }
    return;
  }
  if (takes) {
    fill(from, 0);
  }
}

void GpuKernels::add_on_host(std::span<float> from, std::span<float> into, DeviceId host) {
  auto* const pinned =
      static_cast<float*>(machine_.scratch(id_, Scratch::kPinned, from.size_bytes()));
  if (is_measured() || from.empty()) {
    return;
  }
  const std::span<float> arrived(pinned, from.size());
  runtime_.copy(stream_, pinned, from.data(), from.size_bytes());
  machine_.call(stream_, [machine = &machine_, arrived, into, host] {
    const std::lock_guard lock(*machine->lock_of(host));
    machine->host_kernels().add(arrived, into, false);
  });
}

// Fetched, added to, and brought back.
void GpuKernels::add_on_other(std::span<float> from, std::span<float> into, const DevicePlace& to) {
  auto* const scratch =
      static_cast<float*>(machine_.scratch(id_, Scratch::kDevice, from.size_bytes()));
  const std::span<float> here(scratch, from.size());
  if (machine_.reaches(stream_.device, to.gpu)) {
    if (!is_measured() && !from.empty()) {
      runtime_.copy(stream_, scratch, into.data(), into.size_bytes());
    }
  } else {
    copy_in_pieces(into, here);
  }
  if (!is_measured()) {
    runtime_.add(stream_, from, here, false, {});
  }
  copy_away(here, into, to);
}

void GpuKernels::replace(std::span<const float> from, std::span<float> into) {
  if (!is_measured()) {
    runtime_.replace(stream_, from, into);
  }
}

void GpuKernels::fill(std::span<float> array, float value) {
  if (!is_measured()) {
    runtime_.fill(stream_, array, value);
  }
}

void GpuKernels::exclusively(DeviceId /*device*/, const std::function<void()>& work) {
  is_exclusive_ = true;
  work();
  is_exclusive_ = false;
}

}  // namespace twinrun::exec
