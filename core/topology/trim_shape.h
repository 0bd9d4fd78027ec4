#pragma once

#include "core/base/diagnostics.h"
#include "core/topology/node_shape.h"

namespace twinrun {

// Applies the keys every machine takes (contract): gpus (keep the first so many), nics (keep the
// first so many, or add more that sit where the others do), devices (keep the first so many CPUs).
// The rate of a NIC belongs to the wire, so build_topology() applies it.
void trim_shape(NodeShape& shape, const NodesSpec& nodes, Diagnostics& diagnostics);

}  // namespace twinrun
