#pragma once

#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/topology/topology.h"

namespace twinrun::cli {

// The vertices that --ranks names: "all" compute devices, the first so many ("16"), or a list of
// names ("node0/gpu0,node1/gpu0"). UsageError when there are not so many, or a name is unknown or
// given twice.
std::vector<VertexId> rank_list(const Topology& topology, const std::string& argument);

}  // namespace twinrun::cli
