#include "core/strategy/bucketed_all_reduce.h"
#include "core/strategy/detail/builders.h"
#include "core/strategy/step_builder.h"

// PyTorch's DistributedDataParallel: every rank has the whole model, gradients are averaged over
// all of them in buckets beside the backward pass. The first iteration has one bucket only.

namespace twinrun {

void build_ddp(StepBuilder& steps) {
  const bool has_first_iteration = steps.steps() > 1 && steps.layout().replicas > 1;
  steps.set_warmup_steps(has_first_iteration ? 1 : 0);
  BucketedAllReduce sync(steps, has_first_iteration);
  steps.run(one_f_one_b_schedule, sync);
}

}  // namespace twinrun
