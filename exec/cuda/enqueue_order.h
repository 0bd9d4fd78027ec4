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
  // By op: of a send, whether all that it waits for is done when its receiver has come.
  std::vector<bool> is_known_to_receiver;
};

// `ends_together`: whether a message's send and recv end together, so that each knows of the other
// and of all that came before it. Of other messages the receiver alone has heard of its sender.
EnqueueOrder enqueue_order(const Plan& plan, const std::function<bool(OpId send)>& ends_together);

}  // namespace twinrun::exec
