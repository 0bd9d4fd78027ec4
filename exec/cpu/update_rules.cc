#include "exec/cpu/update_rules.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"

namespace twinrun::exec {
namespace {

constexpr float kMomentum = 0.9F;  // PyTorch's usual values
constexpr double kFirstDecay = 0.9;
constexpr double kSecondDecay = 0.999;
constexpr float kEpsilon = 1e-8F;
constexpr float kWeightDecay = 0.01F;       // adamw's
constexpr std::int64_t kLargestWeight = 2;  // of integers
constexpr std::int64_t kWrap = 2 * kLargestWeight + 1;

void adam(const UpdateRule& rule,
          std::span<float> weights,
          std::span<const float> gradients,
          std::span<float> first,
          std::span<float> second) {
  const auto count = static_cast<double>(rule.step + 1);
  const auto first_scale = static_cast<float>(1 / (1 - std::pow(kFirstDecay, count)));
  const auto second_scale = static_cast<float>(1 / (1 - std::pow(kSecondDecay, count)));
  const auto first_decay = static_cast<float>(kFirstDecay);
  const auto second_decay = static_cast<float>(kSecondDecay);
  const float decay =
      rule.optimizer == Optimizer::kAdamW ? 1 - rule.learning_rate * kWeightDecay : 1.0F;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    first[i] = first_decay * first[i] + (1 - first_decay) * gradients[i];
    second[i] = second_decay * second[i] + (1 - second_decay) * gradients[i] * gradients[i];
    weights[i] = decay * weights[i] - rule.learning_rate * first_scale * first[i] /
                                          (std::sqrt(second_scale * second[i]) + kEpsilon);
  }
}

float wrapped(float value) {
  const std::int64_t shifted = (std::llround(value) + kLargestWeight) % kWrap;
  return static_cast<float>((shifted + kWrap) % kWrap - kLargestWeight);
}

}  // namespace

Optimizer optimizer_named(std::string_view word) {
  const auto found = std::find(kOptimizerWords.begin(), kOptimizerWords.end(), word);
  TWINRUN_CHECK(found != kOptimizerWords.end());
  return static_cast<Optimizer>(found - kOptimizerWords.begin());
}

int moments_of(Optimizer optimizer) {
  return optimizer == Optimizer::kSgd ? 0 : optimizer == Optimizer::kMomentum ? 1 : 2;
}

void update(const UpdateRule& rule,
            std::span<float> weights,
            std::span<const float> gradients,
            std::span<float> first_moments,
            std::span<float> second_moments) {
  if (rule.is_integer) {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      weights[i] = wrapped(weights[i] - gradients[i]);
    }
    return;
  }
  switch (rule.optimizer) {
    case Optimizer::kSgd:
      for (std::size_t i = 0; i < weights.size(); ++i) {
        weights[i] -= rule.learning_rate * gradients[i];
      }
      return;
    case Optimizer::kMomentum:
      for (std::size_t i = 0; i < weights.size(); ++i) {
        first_moments[i] = kMomentum * first_moments[i] + gradients[i];
        weights[i] -= rule.learning_rate * first_moments[i];
      }
      return;
    case Optimizer::kAdam:
    case Optimizer::kAdamW:
      return adam(rule, weights, gradients, first_moments, second_moments);
  }
}

}  // namespace twinrun::exec
