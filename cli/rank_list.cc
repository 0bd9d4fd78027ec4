#include "cli/rank_list.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "cli/comma_list.h"
#include "cli/topology_input.h"
#include "core/base/diagnostics.h"

namespace twinrun::cli {
namespace {

std::vector<VertexId> by_name(const Topology& topology, const std::string& list) {
  std::vector<VertexId> ranks;
  for (const std::string& name : comma_separated(list)) {
    const VertexId vertex = vertex_named(topology, name);
    if (std::find(ranks.begin(), ranks.end(), vertex) != ranks.end()) {
      throw UsageError(fmt::format("--ranks names {} twice", name), "name each device once");
    }
    ranks.push_back(vertex);
  }
  return ranks;
}

}  // namespace

std::vector<VertexId> rank_list(const Topology& topology, const std::string& argument) {
  std::vector<VertexId> all = topology.compute_devices();
  if (argument == "all") {
    return all;
  }
  const std::optional<std::int64_t> count = whole_number(argument);
  if (!count) {
    return by_name(topology, argument);
  }
  if (*count == 0 || *count > static_cast<std::int64_t>(all.size())) {
    throw UsageError(
        fmt::format("--ranks {}: {} has {} devices", *count, topology.name(), all.size()),
        fmt::format("give 1 to {}, all, or names", all.size()));
  }
  all.resize(static_cast<std::size_t>(*count));
  return all;
}

}  // namespace twinrun::cli
