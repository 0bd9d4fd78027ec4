#include "core/strategy/detail/builders.h"
#include "core/strategy/replica_sync.h"
#include "core/strategy/step_builder.h"

// Megatron's schedules (Narayanan et al., arXiv:2104.04473), PipeDream-Flush: a stage begins the
// backward pass of a micro-batch as soon as its gradient is there, so that no more of them are in
// flight than there are stages behind. With several chunks a stage, interleaved.

namespace twinrun {

void build_one_f_one_b(StepBuilder& steps) {
  const auto sync = make_replica_sync(steps);
  steps.run(one_f_one_b_schedule, *sync);
}

}  // namespace twinrun
