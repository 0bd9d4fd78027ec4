#include "exec/cpu/layer_kernels.h"

#include <algorithm>
#include <cmath>

#include "exec/training/element_math.h"

namespace twinrun::exec {

void relu_forward(std::span<const float> input, std::span<float> output) {
  for (std::size_t i = 0; i < input.size(); ++i) {
    output[i] = relu_of(input[i]);
  }
}

void relu_backward(std::span<const float> output,
                   std::span<const float> output_gradient,
                   std::span<float> input_gradient) {
  for (std::size_t i = 0; i < output.size(); ++i) {
    input_gradient[i] = relu_slope_times(output[i], output_gradient[i]);
  }
}

void tanh_forward(std::span<const float> input, std::span<float> output) {
  for (std::size_t i = 0; i < input.size(); ++i) {
    output[i] = tanh_of(input[i]);
  }
}

void tanh_backward(std::span<const float> output,
                   std::span<const float> output_gradient,
                   std::span<float> input_gradient) {
  for (std::size_t i = 0; i < output.size(); ++i) {
    input_gradient[i] = tanh_slope_times(output[i], output_gradient[i]);
  }
}

namespace {

// log Σ exp, without overflow.
double log_sum_exp(std::span<const float> logits) {
  const double most = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) {
    sum += exp_term(logit, most);
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
    const bool is_label = static_cast<std::int64_t>(i) == label;
    gradient[i] = softmax_gradient(logits[i], log_sum, is_label, scale);
  }
}

double mean_squares(std::span<const float> output, std::span<const float> target) {
  double sum = 0;
  for (std::size_t i = 0; i < output.size(); ++i) {
    sum += square_of_difference(output[i], target[i]);
  }
  return sum / static_cast<double>(output.size());
}

void mean_squares_gradient(std::span<const float> output,
                           std::span<const float> target,
                           float scale,
                           std::span<float> gradient) {
  const auto width = static_cast<std::int64_t>(output.size());
  for (std::size_t i = 0; i < output.size(); ++i) {
    gradient[i] = mean_squares_gradient_of(output[i], target[i], scale, width);
  }
}

double distance(std::span<const float> output, std::span<const float> target) {
  double sum = 0;
  for (std::size_t i = 0; i < output.size(); ++i) {
    sum += distance_of(output[i], target[i]);
  }
  return sum;
}

void distance_gradient(std::span<const float> output,
                       std::span<const float> target,
                       std::span<float> gradient) {
  for (std::size_t i = 0; i < output.size(); ++i) {
    gradient[i] = distance_gradient_of(output[i], target[i]);
  }
}

namespace {

// One kind and numbers that nobody else can write: the loop is then vectorised.
template <UpdateKind kind, int moments>
void update_by(UpdateNumbers rule, const UpdatedArrays& arrays) {
  rule.kind = kind;
  float* const weights = arrays.weights.data();
  const float* const gradients = arrays.gradients.data();
  float* const first = arrays.first_moments.data();
  float* const second = arrays.second_moments.data();
  float none = 0;
  for (std::size_t i = 0; i < arrays.weights.size(); ++i) {
    weights[i] = updated_weight(rule, weights[i], gradients[i], moments > 0 ? first[i] : none,
                                moments > 1 ? second[i] : none);
  }
}

}  // namespace

void update_weights(const UpdateNumbers& rule, const UpdatedArrays& arrays) {
  switch (rule.kind) {
    case UpdateKind::kIntegers:
      return update_by<UpdateKind::kIntegers, 0>(rule, arrays);
    case UpdateKind::kSgd:
      return update_by<UpdateKind::kSgd, 0>(rule, arrays);
    case UpdateKind::kMomentum:
      return update_by<UpdateKind::kMomentum, 1>(rule, arrays);
    case UpdateKind::kAdam:
      return update_by<UpdateKind::kAdam, 2>(rule, arrays);
  }
}

}  // namespace twinrun::exec
