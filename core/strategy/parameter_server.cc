#include "core/strategy/detail/builders.h"
#include "core/strategy/server_sync.h"
#include "core/strategy/step_builder.h"

// Every rank is a worker with the whole model; servers hold the weights.

namespace twinrun {

void build_parameter_server(StepBuilder& steps) {
  set_server_warmup(steps);
  const auto sync = make_server_sync(steps);
  steps.run(one_f_one_b_schedule, *sync);
}

}  // namespace twinrun
