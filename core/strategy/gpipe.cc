#include "core/strategy/detail/builders.h"
#include "core/strategy/replica_sync.h"
#include "core/strategy/step_builder.h"

// GPipe (Huang et al., arXiv:1811.06965): all micro-batches forward, then all backward, then one
// update. With recompute a stage keeps only the inputs of its partition.

namespace twinrun {

void build_gpipe(StepBuilder& steps) {
  steps.recompute_whole_chunks();
  const auto sync = make_replica_sync(steps);
  steps.run(gpipe_schedule, *sync);
}

}  // namespace twinrun
