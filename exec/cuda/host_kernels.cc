#include "exec/cuda/host_kernels.h"

#include <mutex>
#include <utility>

#include "core/base/diagnostics.h"

namespace twinrun::exec {

void HostKernels::call(std::function<void(CpuKernels&)> function) {
  if (exclusive_) {
    exclusive_->calls.push_back(std::move(function));
  } else if (machine_.is_prepared()) {
    machine_.call(stream_, [machine = &machine_, function = std::move(function)] {
      function(machine->host_kernels());
    });
  }
}

void HostKernels::multiply(const MatrixProduct& product) {
  call([=](CpuKernels& cpu) { cpu.multiply(product); });
}

void HostKernels::spread_bias(std::span<const float> bias, std::int64_t rows, float* output) {
  call([=](CpuKernels& cpu) { cpu.spread_bias(bias, rows, output); });
}

void HostKernels::sum_rows(const float* from,
                           std::int64_t rows,
                           std::span<float> into,
                           bool accumulates) {
  call([=](CpuKernels& cpu) { cpu.sum_rows(from, rows, into, accumulates); });
}

void HostKernels::activate(Activation kind, std::span<const float> input, std::span<float> output) {
  call([=](CpuKernels& cpu) { cpu.activate(kind, input, output); });
}

void HostKernels::activate_backward(Activation kind,
                                    std::span<const float> output,
                                    std::span<const float> output_gradient,
                                    std::span<float> input_gradient) {
  call([=](CpuKernels& cpu) {
    cpu.activate_backward(kind, output, output_gradient, input_gradient);
  });
}

void HostKernels::losses(const LossRows& rows, std::span<double> on_host) {
  call([=](CpuKernels& cpu) { cpu.losses(rows, on_host); });
}

void HostKernels::loss_gradient(const LossRows& rows, float* gradient) {
  call([=](CpuKernels& cpu) { cpu.loss_gradient(rows, gradient); });
}

void HostKernels::update(const UpdateNumbers& rule, const UpdatedArrays& arrays) {
  call([=](CpuKernels& cpu) { cpu.update(rule, arrays); });
}

void HostKernels::copy(std::span<float> from, std::span<float> into, bool takes) {
  if (machine_.place(machine_.find(into.data()).device).is_host) {
    return call([=](CpuKernels& cpu) { cpu.copy(from, into, takes); });
  }
  copy_to_gpu(from, into, takes);
}

// What others may write meanwhile leaves as a copy, which is made in the call.
void HostKernels::copy_to_gpu(std::span<float> from, std::span<float> into, bool takes) {
  if (exclusive_) {
    const std::size_t first = exclusive_->elements;
    exclusive_->elements += from.size();
    exclusive_->copies.push_back({first, into});
    auto* const scratch = static_cast<float*>(
        machine_.scratch(id_, Scratch::kPinned, exclusive_->elements * sizeof(float)));
    return call([=](CpuKernels& cpu) { cpu.copy(from, {scratch + first, from.size()}, takes); });
  }
  if (machine_.is_prepared() && !from.empty()) {
    machine_.runtime().copy(stream_, into.data(), from.data(), from.size_bytes());
  }
  if (takes) {
    fill(from, 0);
  }
}

void HostKernels::add(std::span<float> from, std::span<float> into, bool takes) {
  if (!machine_.place(machine_.find(into.data()).device).is_host) {
    throw CannotRun("a host cannot add to the memory of a GPU");
  }
  call([=](CpuKernels& cpu) { cpu.add(from, into, takes); });
}

void HostKernels::replace(std::span<const float> from, std::span<float> into) {
  call([=](CpuKernels& cpu) { cpu.replace(from, into); });
}

void HostKernels::fill(std::span<float> array, float value) {
  call([=](CpuKernels& cpu) { cpu.fill(array, value); });
}

void HostKernels::exclusively(DeviceId device, const std::function<void()>& work) {
  exclusive_ = Exclusive{};
  work();
  Exclusive done = std::move(*exclusive_);
  exclusive_.reset();
  if (!machine_.is_prepared()) {
    return;
  }
  const auto* const scratch = static_cast<const float*>(
      machine_.scratch(id_, Scratch::kPinned, done.elements * sizeof(float)));
  machine_.call(stream_, [machine = &machine_, device, calls = std::move(done.calls)] {
    const std::lock_guard lock(*machine->lock_of(device));
    for (const auto& one : calls) {
      one(machine->host_kernels());
    }
  });
  for (const Exclusive::Copy& copy : done.copies) {
    machine_.runtime().copy(stream_, copy.into.data(), scratch + copy.first,
                            copy.into.size_bytes());
  }
}

}  // namespace twinrun::exec
