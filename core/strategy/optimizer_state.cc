#include "core/strategy/optimizer_state.h"

#include "core/strategy/layer_work.h"

namespace twinrun {
namespace {

std::int64_t moments_of(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::kSgd:
      return 0;
    case Optimizer::kMomentum:
      return 1;
    case Optimizer::kAdam:
    case Optimizer::kAdamW:
      return 2;
  }
  return 0;
}

}  // namespace

StateBytes state_bytes(Dtype dtype, Optimizer optimizer) {
  const std::int64_t element = stored_bytes(dtype);
  const std::int64_t master = is_mixed(dtype) ? 4 : 0;
  return {element, element, master + 4 * moments_of(optimizer)};
}

// Reads gradient, weights and moments, writes weights and moments; mixed precision also writes the
// 16-bit weights. Four operations a moment and two for the step.
UpdateWork update_work(Dtype dtype, Optimizer optimizer) {
  const StateBytes state = state_bytes(dtype, optimizer);
  const std::int64_t kept = is_mixed(dtype) ? state.optimizer : state.optimizer + state.weight;
  const std::int64_t copy = is_mixed(dtype) ? state.weight : 0;
  return {2 + 4 * static_cast<double>(moments_of(optimizer)), state.gradient + 2 * kept + copy};
}

}  // namespace twinrun
