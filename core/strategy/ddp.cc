#include "core/strategy/detail/builders.h"
#include "core/strategy/replica_sync.h"
#include "core/strategy/step_builder.h"

// PyTorch's DistributedDataParallel: every rank has the whole model, gradients are averaged over
// all of them in buckets beside the backward pass. The first iteration has one bucket only. With
// zero_stage it is ZeRO or FSDP.

namespace twinrun {

void build_ddp(StepBuilder& steps) {
  steps.set_warmup_steps(steps.steps() > 1 && steps.layout().replicas > 1 ? 1 : 0);
  const auto sync = make_replica_sync(steps);
  steps.run(one_f_one_b_schedule, *sync);
}

}  // namespace twinrun
