#pragma once

#include <string>

#include "core/topology/topology.h"

namespace twinrun::cli {

// A machine drawn as what hangs below its CPUs; links that are not part of the tree (NVLink,
// between sockets) follow below it. Runs of equal leaves are folded: gpu0 … gpu3.
std::string draw_tree(const Topology& topology, NodeId node);

}  // namespace twinrun::cli
