#pragma once

#include "cli/table.h"
#include "core/topology/router.h"
#include "core/topology/topology.h"

namespace twinrun::cli {

// The matrix people know from nvidia-smi: how each device of a machine reaches each other device
// and NIC. NV12 is twelve bonded NVLinks; the other words are path classes.
Table distance_matrix(const Topology& topology, Router& router, NodeId node);

}  // namespace twinrun::cli
