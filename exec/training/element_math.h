#pragma once

#include <cmath>
#include <cstdint>

// The arithmetic of one element, for the loops of a CPU and the kernels of a GPU: written once, so
// that the two cannot differ. In C++17, for compilers of GPUs.

#if defined(__CUDACC__)
#define TWINRUN_EVERYWHERE __host__ __device__
#else
#define TWINRUN_EVERYWHERE
#endif

namespace twinrun::exec {

// ---- activations

// What is not a number stays so, and shows.
inline TWINRUN_EVERYWHERE float relu_of(float input) { return input < 0 ? 0.0F : input; }
inline TWINRUN_EVERYWHERE float relu_slope_times(float output, float gradient) {
  return output > 0 ? gradient : 0.0F;
}
inline TWINRUN_EVERYWHERE float tanh_of(float input) { return std::tanh(input); }
inline TWINRUN_EVERYWHERE float tanh_slope_times(float output, float gradient) {
  return (1 - output * output) * gradient;
}

// ---- losses

enum class LossKind : std::uint8_t {
  kSoftmaxCrossEntropy,
  kMeanSquares,
  // Of integers: the sum of distances, with a gradient of -1, 0 or 1 (Huber's loss far from 0), so
  // that all sums stay whole numbers below 2^24 and are exact in any order.
  kDistance,
};

// A term of Σ exp, without overflow when `most` is the largest logit.
inline TWINRUN_EVERYWHERE double exp_term(float logit, double most) {
  return std::exp(static_cast<double>(logit) - most);
}
inline TWINRUN_EVERYWHERE float softmax_gradient(float logit,
                                                 double log_sum,
                                                 bool is_label,
                                                 float scale) {
  return scale * static_cast<float>(std::exp(static_cast<double>(logit) - log_sum) -
                                    (is_label ? 1.0 : 0.0));
}
inline TWINRUN_EVERYWHERE double square_of_difference(float output, float target) {
  const double difference = static_cast<double>(output) - static_cast<double>(target);
  return difference * difference;
}
inline TWINRUN_EVERYWHERE float mean_squares_gradient_of(float output,
                                                         float target,
                                                         float scale,
                                                         std::int64_t width) {
  return 2 * scale / static_cast<float>(width) * (output - target);
}
inline TWINRUN_EVERYWHERE double distance_of(float output, float target) {
  return std::fabs(static_cast<double>(output) - static_cast<double>(target));
}
inline TWINRUN_EVERYWHERE float distance_gradient_of(float output, float target) {
  const float difference = output - target;
  return difference < -1 ? -1.0F : difference > 1 ? 1.0F : difference;
}

// ---- updates

enum class UpdateKind : std::uint8_t { kIntegers, kSgd, kMomentum, kAdam };

// What an update needs to know; Adam's corrections are worked out before.
struct UpdateNumbers {
  UpdateKind kind = UpdateKind::kSgd;
  float learning_rate = 0;
  float first_scale = 1;
  float second_scale = 1;
  float weight_factor = 1;  // what decay leaves
};

constexpr float kMomentumDecay = 0.9F;  // PyTorch's usual values
constexpr double kFirstDecay = 0.9;
constexpr double kSecondDecay = 0.999;
constexpr float kAdamEpsilon = 1e-8F;
constexpr float kWeightDecay = 0.01F;       // adamw's
constexpr std::int64_t kLargestWeight = 2;  // of integers
constexpr std::int64_t kWeightWrap = 2 * kLargestWeight + 1;

// With integer data: weights less gradients, wrapped into -2 … 2. Any contribution that is missing,
// doubled or late shows, and no sum ever leaves the numbers that fp32 has exactly.
inline TWINRUN_EVERYWHERE float wrapped(float value) {
  const std::int64_t shifted = (std::llround(value) + kLargestWeight) % kWeightWrap;
  return static_cast<float>((shifted + kWeightWrap) % kWeightWrap - kLargestWeight);
}

inline TWINRUN_EVERYWHERE float adam_weight(
    const UpdateNumbers& rule, float weight, float gradient, float& first, float& second) {
  const auto first_decay = static_cast<float>(kFirstDecay);
  const auto second_decay = static_cast<float>(kSecondDecay);
  first = first_decay * first + (1 - first_decay) * gradient;
  second = second_decay * second + (1 - second_decay) * gradient * gradient;
  return rule.weight_factor * weight - rule.learning_rate * rule.first_scale * first /
                                           (std::sqrt(rule.second_scale * second) + kAdamEpsilon);
}

// The new weight; moments that the rule has are changed.
inline TWINRUN_EVERYWHERE float updated_weight(
    const UpdateNumbers& rule, float weight, float gradient, float& first, float& second) {
  switch (rule.kind) {
    case UpdateKind::kIntegers:
      return wrapped(weight - gradient);
    case UpdateKind::kSgd:
      return weight - rule.learning_rate * gradient;
    case UpdateKind::kMomentum:
      first = kMomentumDecay * first + gradient;
      return weight - rule.learning_rate * first;
    case UpdateKind::kAdam:
      return adam_weight(rule, weight, gradient, first, second);
  }
  return weight;
}

}  // namespace twinrun::exec
