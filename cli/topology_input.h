#pragma once

#include <string>

#include "cli/context.h"
#include "core/topology/spec.h"
#include "core/topology/topology.h"

namespace twinrun::cli {

// What an argument names, as written: not expanded, catalogue entries filled in.
TopologySpec read_topology_spec(Context& context,
                                const std::string& argument,
                                Diagnostics& diagnostics);

// As written and as built.
struct LoadedTopology {
  TopologySpec spec;
  Topology topology;
};

// The topology an argument names (catalogue, file, "-", expression), read once and built. Warnings
// are reported; errors throw InputError with all of them.
LoadedTopology load_topology_and_spec(Context& context, const std::string& argument);
Topology load_topology(Context& context, const std::string& argument);

// A vertex by name: UsageError with "did you mean" when there is none.
VertexId vertex_named(const Topology& topology, const std::string& name);

}  // namespace twinrun::cli
