#pragma once

#include <functional>
#include <vector>

#include "core/base/csr.h"
#include "core/plan/plan.h"

namespace twinrun::exec {

// In which order the ops of a plan are handed to streams, and whom each has to wait for there. Both
// follow from the plan alone, so all processes have the same.
struct EnqueueOrder {
  // Nodes of the run graph: of ops that start together the first. What an op waits for comes
  // before it; those that start together are enqueued together.
  std::vector<OpId> nodes;
  // By op: ops of other streams whose end must be awaited. None is there that follows from the
  // others, from the stream's own order, or from what its collectives and messages have heard.
  Csr<OpId, OpId> waits;
};

// `sender_hears`: whether a send ends only when its receiver has come, so that what came before the
// receiver is known to be done. A receiver has always heard of its sender.
EnqueueOrder enqueue_order(const Plan& plan, const std::function<bool(OpId send)>& sender_hears);

}  // namespace twinrun::exec
