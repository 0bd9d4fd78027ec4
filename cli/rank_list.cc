#include "cli/rank_list.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "cli/topology_input.h"
#include "core/base/diagnostics.h"

namespace twinrun::cli {
namespace {

std::optional<std::size_t> whole_number(const std::string& text) {
  std::size_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && last == end ? std::optional(number) : std::nullopt;
}

std::vector<VertexId> by_name(const Topology& topology, const std::string& list) {
  std::vector<VertexId> ranks;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t comma = std::min(list.find(',', begin), list.size());
    const std::string name = list.substr(begin, comma - begin);
    const VertexId vertex = vertex_named(topology, name);
    if (std::find(ranks.begin(), ranks.end(), vertex) != ranks.end()) {
      throw UsageError(fmt::format("--ranks names {} twice", name), "name each device once");
    }
    ranks.push_back(vertex);
    begin = comma + 1;
  }
  return ranks;
}

}  // namespace

std::vector<VertexId> rank_list(const Topology& topology, const std::string& argument) {
  std::vector<VertexId> all = topology.compute_devices();
  if (argument == "all") {
    return all;
  }
  const std::optional<std::size_t> count = whole_number(argument);
  if (!count) {
    return by_name(topology, argument);
  }
  if (*count == 0 || *count > all.size()) {
    throw UsageError(
        fmt::format("--ranks {}: {} has {} devices", *count, topology.name(), all.size()),
        fmt::format("give 1 to {}, all, or names", all.size()));
  }
  all.resize(*count);
  return all;
}

}  // namespace twinrun::cli
