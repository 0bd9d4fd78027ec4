#pragma once

#include "core/base/units.h"
#include "core/topology/topology.h"

namespace twinrun {

// How much the first half of the compute devices can send to the second half, all at once: the
// minimum cut between the two halves (maximum flow). The true bisection, the worst of all halvings,
// is NP-hard; for machines and clusters as people build them the order of the devices follows the
// wiring, and this is the halving they mean. Memory does not forward, as in routes. 0 with
// fewer than two devices.
Bandwidth bisection_bandwidth(const Topology& topology);

}  // namespace twinrun
