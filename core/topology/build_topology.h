#pragma once

#include "core/base/diagnostics.h"
#include "core/topology/spec.h"
#include "core/topology/topology.h"

namespace twinrun {

// Expands a specification into the graph. Linear in the size of the result. Mistakes are added to
// the diagnostics (E03xx, W03xx); when there are errors the returned graph is not to be used.
Topology build_topology(const TopologySpec& spec, Diagnostics& diagnostics);

}  // namespace twinrun
