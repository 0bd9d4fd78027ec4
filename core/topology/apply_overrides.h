#pragma once

#include "core/base/diagnostics.h"
#include "core/topology/topology_builder.h"

namespace twinrun {

// Changes to single machines (a slow GPU, a degraded PCIe link, no P2P between two GPUs): each
// touched machine gets a shape of its own. Before the machines are placed.
void override_machines(const TopologySpec& spec,
                       TopologyBuilder& builder,
                       Diagnostics& diagnostics);

// Changes to wires of the fabric. After it is built.
void override_wires(const TopologySpec& spec, TopologyBuilder& builder, Diagnostics& diagnostics);

}  // namespace twinrun
