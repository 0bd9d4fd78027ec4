#include "core/strategy/detail/builders.h"
#include "core/strategy/replica_sync.h"
#include "core/strategy/step_builder.h"

// Layers on different devices, one after the other: while a stage computes, the others wait (the
// upper picture of Huang et al., arXiv:1811.06965, figure 2).

namespace twinrun {

void build_layer_model_parallel(StepBuilder& steps) {
  const auto sync = make_replica_sync(steps);
  steps.run(sequential_schedule, *sync);
}

}  // namespace twinrun
