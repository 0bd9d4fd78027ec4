#include "cli/topology_input.h"

#include <utility>

#include <fmt/format.h>

#include "core/base/did_you_mean.h"
#include "core/io/load_topology.h"
#include "core/io/topology_argument.h"
#include "core/topology/build_topology.h"
#include "core/topology/name_lookup.h"

namespace twinrun::cli {

TopologySpec read_topology_spec(Context& context,
                                const std::string& argument,
                                Diagnostics& diagnostics) {
  if (argument != "-") {
    return read_topology_argument(argument, diagnostics);
  }
  const Source source = context.source(argument);
  const JsonDocument document = JsonDocument::read(source, diagnostics);
  return read_topology(document.root(), diagnostics);
}

LoadedTopology load_topology_and_spec(Context& context, const std::string& argument) {
  Diagnostics diagnostics;
  TopologySpec spec = read_topology_spec(context, argument, diagnostics);
  diagnostics.throw_if_errors();
  Topology topology = build_topology(spec, diagnostics);
  diagnostics.throw_if_errors();
  context.report(diagnostics);
  return {std::move(spec), std::move(topology)};
}

Topology load_topology(Context& context, const std::string& argument) {
  return load_topology_and_spec(context, argument).topology;
}

VertexId vertex_named(const Topology& topology, const std::string& name) {
  if (const auto found = topology.find(name)) {
    return *found;
  }
  throw UsageError(fmt::format("{} has no \"{}\"", topology.name(), name),
                   did_you_mean(name, some_names(topology)));
}

}  // namespace twinrun::cli
