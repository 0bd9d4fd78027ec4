#pragma once

#include "core/nccl/planner.h"
#include "core/topology/topology.h"
#include "sim/collective/method.h"

namespace twinrun::sim {

// A collective as NCCL would do it: its choice of algorithm and protocol, the time it is predicted
// to take alone, and its traffic on the links, so that others are felt. A sentence when NCCL could
// not.
struct NcclMethod {
  std::optional<CollectiveMethod> method;
  std::string why_not;
};
NcclMethod nccl_method(const CollectiveRequest& request,
                       NcclPlanner& planner,
                       const Topology& topology);

}  // namespace twinrun::sim
