#pragma once

#include <cstdint>
#include <string_view>

#include "core/strategy/job.h"
#include "exec/training/element_math.h"

namespace twinrun::exec {

// How weights change. Moments start at 0; sgd has none, momentum the first, adam both.
struct UpdateRule {
  Optimizer optimizer = Optimizer::kSgd;
  float learning_rate = 0.1F;
  std::int64_t step = 0;    // of the run, from 0: adam corrects for how few there were
  bool is_integer = false;  // whole numbers instead, see element_math.h
};

Optimizer optimizer_named(std::string_view word);
int moments_of(Optimizer optimizer);
UpdateNumbers numbers_of(const UpdateRule& rule);

}  // namespace twinrun::exec
