#include "core/topology/name_lookup.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/did_you_mean.h"
#include "core/topology/name_pattern.h"

namespace twinrun {
namespace {

void match_in_machine(const Topology& topology,
                      NodeId node,
                      const NamePattern& pattern,
                      std::vector<VertexId>& found) {
  const NodeShape& shape = topology.shape(node);
  for (std::uint32_t i = 0; i < shape.vertices.size(); ++i) {
    if (pattern.matches(shape.name_of(i))) {
      found.push_back(topology.vertex_in(node, i));
    }
  }
}

// Every machine is looked at only when its own name matches, so node7/gpu* costs one machine.
void match_everywhere(const Topology& topology,
                      const NamePattern& pattern,
                      std::vector<VertexId>& found) {
  const bool alone = topology.node_count() == 1;
  const NamePattern in_machine = pattern.tail();
  for (std::size_t n = 0; n < topology.node_count(); ++n) {
    const NodeId node = id_at<NodeId>(n);
    const bool named = pattern.segments() > 1 &&
                       pattern.matches(0, topology.node_word(node), topology.node(node).number);
    if (named) {
      match_in_machine(topology, node, in_machine, found);
    } else if (alone) {
      match_in_machine(topology, node, pattern, found);
    }
  }
  for (std::size_t v = topology.fabric_first_vertex(); v < topology.vertex_count(); ++v) {
    if (pattern.matches(topology.name(id_at<VertexId>(v)))) {
      found.push_back(id_at<VertexId>(v));
    }
  }
}

}  // namespace

std::vector<std::string> some_names(const Topology& topology) {
  constexpr std::size_t kSome = 64;
  std::vector<std::string> names;
  const std::size_t fabric = topology.fabric_first_vertex();
  for (std::size_t v = 0; v < topology.vertex_count() && names.size() < kSome; ++v) {
    const bool later_machine =
        v < fabric && topology.node_of(id_at<VertexId>(v)) != id_at<NodeId>(0);
    v = later_machine ? fabric : v;
    if (v < topology.vertex_count()) {
      names.push_back(topology.name(id_at<VertexId>(v)));
    }
  }
  return names;
}

std::vector<VertexId> find_vertices(const Topology& topology,
                                    const std::vector<std::string>& patterns,
                                    const Place& place,
                                    Diagnostics& diagnostics) {
  std::vector<VertexId> found;
  for (const std::string& text : patterns) {
    const std::size_t before = found.size();
    if (const auto exact = topology.find(text)) {
      found.push_back(*exact);
    } else if (const auto pattern = NamePattern::parse(text);
               pattern && text.find_first_of("*[") != std::string::npos) {
      match_everywhere(topology, *pattern, found);
    }
    if (found.size() == before) {
      diagnostics.error("E0304", place,
                        fmt::format("nothing in this topology is named \"{}\"", text),
                        did_you_mean(text, some_names(topology)));
    }
  }
  return found;
}

}  // namespace twinrun
