#pragma once

#include "core/base/diagnostics.h"
#include "exec/discover/machine.h"

namespace twinrun::exec {

// Adds what hwloc says of a machine to what /sys says of it: processors, memory and caches are
// hwloc's from here on, and so are the NUMA nodes of PCI devices that it knows. Where both speak
// and differ there is one warning (W0224), and hwloc's words stand: it corrects what firmware is
// known to say wrong, and launchers of processes bind them by it. Sizes that it does not know, and
// all else, stay as they are.
void take_from_hwloc(const Machine& said, Machine& machine, Diagnostics& diagnostics);

}  // namespace twinrun::exec
