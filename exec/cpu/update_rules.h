#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/strategy/job.h"

namespace twinrun::exec {

// How weights change. Moments start at 0; sgd has none, momentum the first, adam both.
struct UpdateRule {
  Optimizer optimizer = Optimizer::kSgd;
  float learning_rate = 0.1F;
  std::int64_t step = 0;    // of the run, from 0: adam corrects for how few there were
  bool is_integer = false;  // whole numbers instead, see below
};

Optimizer optimizer_named(std::string_view word);
int moments_of(Optimizer optimizer);

// With integer data: weights less gradients, wrapped into -2 … 2. Any contribution that is missing,
// doubled or late shows, and no sum ever leaves the numbers that fp32 has exactly.
void update(const UpdateRule& rule,
            std::span<float> weights,
            std::span<const float> gradients,
            std::span<float> first_moments,
            std::span<float> second_moments);

}  // namespace twinrun::exec
