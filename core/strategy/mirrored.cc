#include "core/strategy/detail/builders.h"
#include "core/strategy/detail/strategy_limits.h"
#include "core/strategy/packed_all_reduce.h"
#include "core/strategy/step_builder.h"

// TensorFlow's MirroredStrategy: every GPU of one machine has a copy of each variable; gradients
// are summed over all of them once backward is through, and every copy is updated.

namespace twinrun {

void build_mirrored(StepBuilder& steps) {
  if (needs_one_machine(steps, "mirrored", "multi_worker_mirrored")) {
    PackedAllReduce sync(steps);
    steps.run(one_f_one_b_schedule, sync);
  }
}

}  // namespace twinrun
