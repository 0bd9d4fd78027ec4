#pragma once

#include "core/nccl/planner.h"
#include "core/topology/topology.h"
#include "sim/collective/method.h"
#include "sim/collective/nccl_method.h"

namespace twinrun::sim {

// An all-to-all over NCCL, which has no such collective: a group of sends and receives, all at
// once. Each costs the host a call. Over TCP the many flows of a machine get unequal shares, and
// the exchange ends with the slowest.
NcclMethod nccl_exchange(const CollectiveRequest& request,
                         NcclPlanner& planner,
                         const NcclLaunch& launch,
                         RouteCache& routes,
                         const Topology& topology);

}  // namespace twinrun::sim
