#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/plan.h"
#include "core/trace/trace.h"

namespace twinrun {

// How old the weights were that gradients were computed with, counted in updates that came between.
struct Staleness {
  double mean = 0;
  std::int64_t max = 0;
  std::vector<std::int64_t>
      histogram;  // by staleness: how many gradients had it; empty without any
  bool operator==(const Staleness&) const = default;
};

// Whether servers apply each worker's gradients as they come, so that no worker waits for another:
// the plan has updates such as step3/update/server0-group2/rank1@server0.
bool workers_are_independent(const Plan& plan);

// Of workers that push to servers without waiting for each other. A gradient is a pair of ops,
//   step3/pull/server0-group2@rank1             its weights: those of the moment when the server
//                                               could answer, however long they are on their way
//   step3/update/server0-group2/rank1@server0   where it was applied, at the op's end
// and its staleness is how many gradients of other workers were applied to the same group between
// the two. At one instant workers take turns by their order in the plan: each applies, then reads.
// Counted are those applied while all workers work and after the first of them has ended all steps
// before `first_step`, but for every worker's first; nothing without such ops (sync).
Staleness server_staleness(const Plan& plan, const Trace& trace, std::int64_t first_step = 0);

// Of pipelines whose stages go on while a micro-batch is away (PipeDream): updates of the stage
//   step3/update/mb2@rank1
// between the forward pass of a micro-batch on it and the update that its gradient makes. Nothing
// is counted when no update comes between any two.
Staleness pipeline_staleness(const Plan& plan, const Trace& trace, std::int64_t first_step = 0);

}  // namespace twinrun
