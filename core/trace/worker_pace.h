#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/plan.h"
#include "core/trace/trace.h"

namespace twinrun {

// How many steps a second workers make that do not wait for each other, while all of them work:
// from the end of each one's warm-up to its last step that ends before the first worker is through
// its program. A worker is the part after '@' of the ids of forward passes; it has ended a step
// with the last op of its own. Zero for workers that end no step in that time. The ranks of one
// pipeline are a worker each.
struct WorkerPace {
  std::vector<double> steps_per_s;  // by worker, in the order of the plan
  double sum = 0;  // × local batch: samples a second, where every rank has a whole model
};
WorkerPace worker_pace(const Plan& plan, const Trace& trace, std::int64_t warmup_steps);

}  // namespace twinrun
