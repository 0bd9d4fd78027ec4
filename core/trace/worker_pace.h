#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/plan.h"
#include "core/trace/intervals.h"
#include "core/trace/trace.h"

namespace twinrun {

// One that trains: the part after '@' of the ids of forward passes. It has ended a step with the
// last op of its own passes. The ranks of one pipeline are a worker each, all at the same pace.
struct Worker {
  DeviceId device{};
  Interval counted;        // from the end of its warm-up to its last step that counts
  std::int64_t steps = 0;  // in that time
  [[nodiscard]] double steps_per_s() const;
};

// Workers that do not wait for each other, while all of them work: steps count that end before the
// first worker is through its program. A worker that is too slow to end any by then is counted to
// its own end.
struct WorkerPace {
  std::vector<Worker> workers;  // in the order of the plan
  double sum = 0;               // steps a second of all of them
  // As long as it takes them all to make a step each, which is as much as a synchronous step.
  [[nodiscard]] double step_s() const;
};
WorkerPace worker_pace(const Plan& plan, const Trace& trace, std::int64_t warmup_steps);

}  // namespace twinrun
