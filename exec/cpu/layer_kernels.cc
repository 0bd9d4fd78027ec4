#include "exec/cpu/layer_kernels.h"

#include <algorithm>
#include <cmath>

namespace twinrun::exec {

void linear_forward(const Products& products,
                    const LinearShape& shape,
                    const float* input,
                    const float* weight,
                    std::span<const float> bias,
                    float* output) {
  // The product is added to the bias rather than the other way round: instead of filling with zeros.
  for (std::int64_t i = 0; i < (bias.empty() ? 0 : shape.samples); ++i) {
    std::copy(bias.begin(), bias.end(), output + i * shape.outputs);
  }
  products.multiply({.m = shape.samples,
                     .n = shape.outputs,
                     .k = shape.inputs,
                     .a = input,
                     .b = weight,
                     .c = output,
                     .transposes_b = true,
                     .accumulates = !bias.empty()});
}

void linear_backward_input(const Products& products,
                           const LinearShape& shape,
                           const float* output_gradient,
                           const float* weight,
                           float* input_gradient) {
  products.multiply({.m = shape.samples,
                     .n = shape.inputs,
                     .k = shape.outputs,
                     .a = output_gradient,
                     .b = weight,
                     .c = input_gradient});
}

void linear_backward_weight(const Products& products,
                            const LinearShape& shape,
                            const float* output_gradient,
                            const float* input,
                            const LinearGradients& gradients) {
  products.multiply({.m = shape.outputs,
                     .n = shape.inputs,
                     .k = shape.samples,
                     .a = output_gradient,
                     .b = input,
                     .c = gradients.weight,
                     .transposes_a = true,
                     .accumulates = gradients.accumulates});
  const std::span<float> bias_gradient = gradients.bias;
  if (!gradients.accumulates) {
    std::fill(bias_gradient.begin(), bias_gradient.end(), 0.0F);
  }
  for (std::int64_t i = 0; i < shape.samples; ++i) {
    const float* const row = output_gradient + i * shape.outputs;
    for (std::size_t j = 0; j < bias_gradient.size(); ++j) {
      bias_gradient[j] += row[j];
    }
  }
}

void relu_forward(std::span<const float> input, std::span<float> output) {
  for (std::size_t i = 0; i < input.size(); ++i) {
    output[i] = std::max(input[i], 0.0F);
  }
}

void relu_backward(std::span<const float> output,
                   std::span<const float> output_gradient,
                   std::span<float> input_gradient) {
  for (std::size_t i = 0; i < output.size(); ++i) {
    const float gradient = output_gradient[i];  // read in any case: no branch, a tenth of the time
    input_gradient[i] = output[i] > 0 ? gradient : 0.0F;
  }
}

void tanh_forward(std::span<const float> input, std::span<float> output) {
  for (std::size_t i = 0; i < input.size(); ++i) {
    output[i] = std::tanh(input[i]);
  }
}

void tanh_backward(std::span<const float> output,
                   std::span<const float> output_gradient,
                   std::span<float> input_gradient) {
  for (std::size_t i = 0; i < output.size(); ++i) {
    input_gradient[i] = (1 - output[i] * output[i]) * output_gradient[i];
  }
}

namespace {

// log Σ exp, without overflow.
double log_sum_exp(std::span<const float> logits) {
  const double most = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) {
    sum += std::exp(logit - most);
  }
  return most + std::log(sum);
}

}  // namespace

double softmax_cross_entropy(std::span<const float> logits, std::int64_t label) {
  return log_sum_exp(logits) - logits[static_cast<std::size_t>(label)];
}

void softmax_cross_entropy_gradient(std::span<const float> logits,
                                    std::int64_t label,
                                    float scale,
                                    std::span<float> gradient) {
  const double log_sum = log_sum_exp(logits);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double is_label = static_cast<std::int64_t>(i) == label ? 1 : 0;
    gradient[i] = scale * static_cast<float>(std::exp(logits[i] - log_sum) - is_label);
  }
}

double mean_squares(std::span<const float> output, std::span<const float> target) {
  double sum = 0;
  for (std::size_t i = 0; i < output.size(); ++i) {
    const double difference = static_cast<double>(output[i]) - target[i];
    sum += difference * difference;
  }
  return sum / static_cast<double>(output.size());
}

void mean_squares_gradient(std::span<const float> output,
                           std::span<const float> target,
                           float scale,
                           std::span<float> gradient) {
  const float factor = 2 * scale / static_cast<float>(output.size());
  for (std::size_t i = 0; i < output.size(); ++i) {
    gradient[i] = factor * (output[i] - target[i]);
  }
}

double distance(std::span<const float> output, std::span<const float> target) {
  double sum = 0;
  for (std::size_t i = 0; i < output.size(); ++i) {
    sum += std::abs(static_cast<double>(output[i]) - target[i]);
  }
  return sum;
}

void distance_gradient(std::span<const float> output,
                       std::span<const float> target,
                       std::span<float> gradient) {
  for (std::size_t i = 0; i < output.size(); ++i) {
    gradient[i] = std::clamp(output[i] - target[i], -1.0F, 1.0F);
  }
}

}  // namespace twinrun::exec
