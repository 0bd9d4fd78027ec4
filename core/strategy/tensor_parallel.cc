#include "core/strategy/detail/builders.h"
#include "core/strategy/replica_sync.h"
#include "core/strategy/step_builder.h"

// Megatron's tensor parallelism (Shoeybi et al., arXiv:1909.08053): every dense layer is divided
// among all ranks, by columns and then by rows, attention by heads. layer_work.cc says how.

namespace twinrun {

void build_tensor_parallel(StepBuilder& steps) {
  const auto sync = make_replica_sync(steps);
  steps.run(one_f_one_b_schedule, *sync);
}

}  // namespace twinrun
