#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/plan.h"
#include "core/trace/trace.h"

namespace twinrun {

// How old the weights were that gradients were computed with, counted in updates by others.
struct Staleness {
  double mean = 0;
  std::int64_t max = 0;
  std::vector<std::int64_t>
      histogram;  // by staleness: how many gradients had it; empty without any
  bool operator==(const Staleness&) const = default;
};

// Of workers that push to servers without waiting for each other. A gradient is a pair of ops,
//   step3/pull/server0-group2@rank1             its weights: those of the moment when the server
//                                               could answer, however long they are on their way
//   step3/update/server0-group2/rank1@server0   where it was applied, at the op's end
// and its staleness is how many gradients of other workers were applied to the same group between
// the two. At one instant workers take turns by their order in the plan: each applies, then reads.
// Only gradients of steps from `first_step` on count; nothing is counted without such ops (sync).
Staleness server_staleness(const Plan& plan, const Trace& trace, std::int64_t first_step = 0);

}  // namespace twinrun
