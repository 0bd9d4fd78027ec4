#include "core/strategy/batch_feed.h"
#include "core/strategy/detail/builders.h"
#include "core/strategy/server_sync.h"
#include "core/strategy/step_builder.h"

// The two levels of the d2l lecture (Dive into Deep Learning, parameter servers): a machine splits
// its block of the batch over its GPUs, pulls the weights once and copies them to every GPU; their
// gradients are summed in the machine before they go to the servers, which sum and update.

namespace twinrun {

void build_hierarchical_ps(StepBuilder& steps) {
  set_server_warmup(steps);
  const auto sync = make_server_sync(steps, true);
  BatchFeed fed(steps, *sync);
  steps.run(one_f_one_b_schedule, fed);
}

}  // namespace twinrun
