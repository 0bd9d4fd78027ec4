#pragma once

#include <string>
#include <vector>

#include "core/base/diagnostics.h"
#include "core/topology/topology.h"

namespace twinrun {

// The vertices that patterns such as node*/gpu[0-3], gpu1 or leaf0 name, in the order of the
// patterns. A pattern that names nothing is complained about (E0304) with the nearest name.
std::vector<VertexId> find_vertices(const Topology& topology,
                                    const std::vector<std::string>& patterns,
                                    const Place& place,
                                    Diagnostics& diagnostics);

// Names to suggest when one is mistyped: those of the first machine, then switches.
std::vector<std::string> some_names(const Topology& topology);

}  // namespace twinrun
