#include "core/strategy/detail/builders.h"
#include "core/strategy/step_builder.h"

// The training loop on one device: input, forward, loss, backward, update.

namespace twinrun {

void build_single(StepBuilder& steps) {
  GradientSync nothing_to_exchange;
  steps.run(gpipe_schedule, nothing_to_exchange);
}

}  // namespace twinrun
