#include "exec/cpu/cpu_machine.h"

#include <algorithm>
#include <functional>
#include <new>

#include "exec/cpu/layer_kernels.h"
#include "exec/training/training_data.h"

namespace twinrun::exec {

void CpuKernels::spread_bias(std::span<const float> bias, std::int64_t rows, float* output) {
  for (std::int64_t i = 0; i < rows; ++i) {
    std::copy(bias.begin(), bias.end(), output + i * static_cast<std::int64_t>(bias.size()));
  }
}

void CpuKernels::sum_rows(const float* from,
                          std::int64_t rows,
                          std::span<float> into,
                          bool accumulates) {
  if (!accumulates) {
    std::fill(into.begin(), into.end(), 0.0F);
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    const float* const row = from + i * static_cast<std::int64_t>(into.size());
    for (std::size_t j = 0; j < into.size(); ++j) {
      into[j] += row[j];
    }
  }
}

void CpuKernels::activate(Activation kind, std::span<const float> input, std::span<float> output) {
  (kind == Activation::kRelu ? relu_forward : tanh_forward)(input, output);
}

void CpuKernels::activate_backward(Activation kind,
                                   std::span<const float> output,
                                   std::span<const float> output_gradient,
                                   std::span<float> input_gradient) {
  (kind == Activation::kRelu ? relu_backward : tanh_backward)(output, output_gradient,
                                                              input_gradient);
}

void CpuKernels::losses(const LossRows& rows, std::span<double> on_host) {
  const auto width = static_cast<std::size_t>(rows.width);
  for (std::size_t i = 0; i < on_host.size(); ++i) {
    const std::span<const float> output(rows.output + i * width, width);
    const std::span<const float> target(rows.targets + i * width, width);
    switch (rows.kind) {
      case LossKind::kSoftmaxCrossEntropy:
        on_host[i] = softmax_cross_entropy(output, rows.labels[i]);
        break;
      case LossKind::kMeanSquares:
        on_host[i] = mean_squares(output, target);
        break;
      case LossKind::kDistance:
        on_host[i] = distance(output, target);
        break;
    }
  }
}

void CpuKernels::loss_gradient(const LossRows& rows, float* gradient) {
  const auto width = static_cast<std::size_t>(rows.width);
  for (std::size_t i = 0; i < static_cast<std::size_t>(rows.rows); ++i) {
    const std::span<const float> output(rows.output + i * width, width);
    const std::span<const float> target(rows.targets + i * width, width);
    const std::span<float> into(gradient + i * width, width);
    switch (rows.kind) {
      case LossKind::kSoftmaxCrossEntropy:
        softmax_cross_entropy_gradient(output, rows.labels[i], rows.scale, into);
        break;
      case LossKind::kMeanSquares:
        mean_squares_gradient(output, target, rows.scale, into);
        break;
      case LossKind::kDistance:
        distance_gradient(output, target, into);
        break;
    }
  }
}

void CpuKernels::update(const UpdateNumbers& rule, const UpdatedArrays& arrays) {
  update_weights(rule, arrays);
  if (arrays.takes) {
    fill(arrays.gradients, 0);
  }
}

void CpuKernels::copy(std::span<float> from, std::span<float> into, bool takes) {
  std::copy(from.begin(), from.end(), into.begin());
  if (takes) {
    fill(from, 0);
  }
}

void CpuKernels::add(std::span<float> from, std::span<float> into, bool takes) {
  std::transform(from.begin(), from.end(), into.begin(), into.begin(), std::plus<>());
  if (takes) {
    fill(from, 0);
  }
}

void CpuKernels::replace(std::span<const float> from, std::span<float> into) {
  if (!std::equal(from.begin(), from.end(), into.begin())) {
    std::copy(from.begin(), from.end(), into.begin());
  }
}

void CpuKernels::fill(std::span<float> array, float value) {
  std::fill(array.begin(), array.end(), value);
}

void CpuKernels::exclusively(DeviceId device, const std::function<void()>& work) {
  const std::lock_guard lock(device_locks_[index_of(device)]);
  work();
}

CpuMachine::CpuMachine(const Plan& plan, ProductLibrary library)
    : products_(library), device_locks_(plan.device_count()), kernels_(products_, device_locks_) {}

std::span<float> CpuMachine::allocate(DeviceId /*device*/, std::size_t elements) {
  auto* const array = static_cast<float*>(std::calloc(elements, sizeof(float)));
  if (array == nullptr) {
    throw std::bad_alloc();
  }
  arrays_.emplace_back(array);
  return {array, elements};
}

std::span<double> CpuMachine::allocate_losses(std::size_t count) {
  return losses_.emplace_back(count);
}

SamplePlace CpuMachine::place_samples(DeviceId /*device*/, TrainingData& data) {
  return {data.inputs().data(), data.targets().data(), data.labels().data()};
}

void CpuMachine::write(std::span<const float> from, std::span<float> into) {
  std::copy(from.begin(), from.end(), into.begin());
}

void CpuMachine::read(std::span<const float> from, std::span<float> into) const {
  std::copy(from.begin(), from.end(), into.begin());
}

}  // namespace twinrun::exec
