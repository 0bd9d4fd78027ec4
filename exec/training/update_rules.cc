#include "exec/training/update_rules.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"

namespace twinrun::exec {

Optimizer optimizer_named(std::string_view word) {
  const auto found = std::find(kOptimizerWords.begin(), kOptimizerWords.end(), word);
  TWINRUN_CHECK(found != kOptimizerWords.end());
  return static_cast<Optimizer>(found - kOptimizerWords.begin());
}

int moments_of(Optimizer optimizer) {
  return optimizer == Optimizer::kSgd ? 0 : optimizer == Optimizer::kMomentum ? 1 : 2;
}

UpdateNumbers numbers_of(const UpdateRule& rule) {
  UpdateNumbers out;
  out.learning_rate = rule.learning_rate;
  if (rule.is_integer) {
    out.kind = UpdateKind::kIntegers;
    return out;
  }
  switch (rule.optimizer) {
    case Optimizer::kSgd:
      out.kind = UpdateKind::kSgd;
      return out;
    case Optimizer::kMomentum:
      out.kind = UpdateKind::kMomentum;
      return out;
    case Optimizer::kAdam:
    case Optimizer::kAdamW:
      break;
  }
  const auto count = static_cast<double>(rule.step + 1);
  out.kind = UpdateKind::kAdam;
  out.first_scale = static_cast<float>(1 / (1 - std::pow(kFirstDecay, count)));
  out.second_scale = static_cast<float>(1 / (1 - std::pow(kSecondDecay, count)));
  out.weight_factor =
      rule.optimizer == Optimizer::kAdamW ? 1 - rule.learning_rate * kWeightDecay : 1.0F;
  return out;
}

}  // namespace twinrun::exec
