#include "core/topology/apply_overrides.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/topology/name_lookup.h"
#include "core/topology/name_pattern.h"

namespace twinrun {
namespace {

// The machines a pattern speaks of and what it says within each. In a single machine the machine
// part may be left out.
struct Target {
  std::vector<NodeId> nodes;  // in order
  std::optional<NamePattern> local;
};

Target target_of(const Topology& topology, const std::string& text) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  const auto machine = NamePattern::parse(std::string_view(text).substr(0, slash));
  Target target;
  for (std::size_t n = 0; machine && slash < text.size() && n < topology.node_count(); ++n) {
    const NodeId node = id_at<NodeId>(n);
    if (machine->matches(0, topology.node_word(node), topology.node(node).number)) {
      target.nodes.push_back(node);
    }
  }
  if (target.nodes.empty() && topology.node_count() == 1) {
    target.nodes.push_back(id_at<NodeId>(0));
    target.local = NamePattern::parse(text);
  } else {
    target.local = NamePattern::parse(text.substr(std::min(slash + 1, text.size())));
  }
  return target;
}

std::vector<std::uint32_t> matching(const NodeShape& shape,
                                    const std::optional<NamePattern>& pattern) {
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = 0; pattern && i < shape.vertices.size(); ++i) {
    if (pattern->matches(shape.name_of(i))) {
      found.push_back(i);
    }
  }
  return found;
}

void complain(const std::string& what, const OverrideSpec& change, Diagnostics& diagnostics) {
  diagnostics.error("E0304", change.place,
                    fmt::format("the override names {}, which does not exist", what),
                    "`twinrun topo show` lists the names");
}

// Which vertices of which machines the patterns name, each once, machines that change alike
// together.
using Changes = std::map<std::pair<std::uint32_t, std::set<std::uint32_t>>, std::vector<NodeId>>;

Changes changes_of(const Topology& topology, const OverrideSpec& change, Diagnostics& diagnostics) {
  std::map<NodeId, std::set<std::uint32_t>> by_node;
  for (const std::string& text : change.vertices) {
    const Target target = target_of(topology, text);
    std::map<std::uint32_t, std::vector<std::uint32_t>> by_shape;  // names are alike in a shape
    bool any = false;
    for (const NodeId node : target.nodes) {
      const auto [found, is_new] = by_shape.try_emplace(topology.node(node).shape);
      if (is_new) {
        found->second = matching(topology.shape(node), target.local);
      }
      if (!found->second.empty()) {
        by_node[node].insert(found->second.begin(), found->second.end());
        any = true;
      }
    }
    if (!any) {
      complain(fmt::format("\"{}\"", text), change, diagnostics);
    }
  }
  Changes changes;
  for (auto& [node, locals] : by_node) {
    changes[{topology.node(node).shape, std::move(locals)}].push_back(node);
  }
  return changes;
}

void change_vertex(NodeShape::Vertex& vertex,
                   const OverrideSpec& change,
                   std::optional<std::uint32_t> device) {
  vertex.compute_scale *= change.compute_scale;
  vertex.memory_bandwidth_scale *= change.memory_bandwidth_scale;
  vertex.device = device.value_or(vertex.device);
}

void change_vertices(const TopologySpec& spec,
                     const OverrideSpec& change,
                     TopologyBuilder& builder,
                     Diagnostics& diagnostics) {
  const auto found = std::find_if(spec.devices.begin(), spec.devices.end(),
                                  [&](const DeviceSpec& d) { return d.name == change.device; });
  std::optional<std::uint32_t> device;
  if (found != spec.devices.end()) {
    device = static_cast<std::uint32_t>(found - spec.devices.begin());
  }
  for (const auto& [key, nodes] : changes_of(builder.so_far(), change, diagnostics)) {
    for (const std::uint32_t shape : builder.own_shapes(nodes)) {
      for (const std::uint32_t local : key.second) {
        change_vertex(builder.shape_at(shape).vertices[local], change, device);
      }
    }
  }
}

void change_link(NodeShape::Link& link, const OverrideSpec& change) {
  link.bandwidth = {change.bandwidth.value_or(link.bandwidth).bytes_per_s * change.bandwidth_scale};
  link.latency = change.latency.value_or(link.latency);
  link.failed = link.failed || change.failed;
}

using Locals = std::vector<std::uint32_t>;  // ascending
using UseEnds = std::function<bool(NodeShape&, const Locals&, const Locals&)>;

// Calls for every shape in which the two patterns name vertices of one machine; true when any was
// used.
bool for_each_shape(const std::vector<std::string>& ends,
                    TopologyBuilder& builder,
                    const UseEnds& use) {
  const Target a = target_of(builder.so_far(), ends[0]);
  const Target b = target_of(builder.so_far(), ends[1]);
  std::vector<NodeId> both;
  std::set_intersection(a.nodes.begin(), a.nodes.end(), b.nodes.begin(), b.nodes.end(),
                        std::back_inserter(both));
  bool any = false;
  for (const std::uint32_t index : builder.own_shapes(both)) {
    NodeShape& shape = builder.shape_at(index);
    any = use(shape, matching(shape, a.local), matching(shape, b.local)) || any;
  }
  return any;
}

void change_link_in_machine(const OverrideSpec& change, TopologyBuilder& builder) {
  const auto use = [&](NodeShape& shape, const Locals& as, const Locals& bs) {
    const auto joins = [&](std::uint32_t from, std::uint32_t to) {
      return std::binary_search(as.begin(), as.end(), from) &&
             std::binary_search(bs.begin(), bs.end(), to);
    };
    for (NodeShape::Link& link : shape.links) {
      if (joins(link.from, link.to) || joins(link.to, link.from)) {
        change_link(link, change);
      }
    }
    return true;
  };
  for_each_shape(change.link_ends, builder, use);
}

// Grants or denies every pair of two different vertices, both ways; true when there was one.
bool change_p2p_pairs(NodeShape& shape, const Locals& as, const Locals& bs, bool allowed) {
  auto& to = allowed ? shape.p2p_granted : shape.p2p_denied;
  auto& other = allowed ? shape.p2p_denied : shape.p2p_granted;
  bool any = false;
  for (const std::uint32_t a : as) {
    for (const std::uint32_t b : bs) {
      if (a != b) {
        to.insert({{a, b}, {b, a}});
        other.erase({a, b});
        other.erase({b, a});
        any = true;
      }
    }
  }
  return any;
}

void change_p2p(const OverrideSpec& change, TopologyBuilder& builder, Diagnostics& diagnostics) {
  const auto use = [&](NodeShape& shape, const Locals& as, const Locals& bs) {
    return change_p2p_pairs(shape, as, bs, change.p2p_allowed);
  };
  if (!for_each_shape(change.p2p_pair, builder, use)) {
    complain(
        fmt::format("the pair {} and {} of one machine", change.p2p_pair[0], change.p2p_pair[1]),
        change, diagnostics);
  }
}

// Links from any of these to any of those; the targets ascending.
void add_links_from(const Topology& topology,
                    const Csr<VertexId, LinkId>& out,
                    const std::vector<VertexId>& sources,
                    const std::vector<VertexId>& targets,
                    std::vector<LinkId>& found) {
  for (const VertexId vertex : sources) {
    for (const LinkId link : out[vertex]) {
      if (std::binary_search(targets.begin(), targets.end(), topology.to(link))) {
        found.push_back(link);
      }
    }
  }
}

// Links between any of these and any of those, in either direction, each once.
std::vector<LinkId> links_between(const Topology& topology,
                                  const Csr<VertexId, LinkId>& out,
                                  std::vector<VertexId> as,
                                  std::vector<VertexId> bs) {
  std::sort(as.begin(), as.end());
  std::sort(bs.begin(), bs.end());
  std::vector<LinkId> found;
  add_links_from(topology, out, as, bs, found);
  add_links_from(topology, out, bs, as, found);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace

void override_machines(const TopologySpec& spec,
                       TopologyBuilder& builder,
                       Diagnostics& diagnostics) {
  for (const OverrideSpec& change : spec.overrides) {
    if (!change.vertices.empty()) {
      change_vertices(spec, change, builder, diagnostics);
    }
    if (!change.p2p_pair.empty()) {
      change_p2p(change, builder, diagnostics);
    }
    if (!change.link_ends.empty()) {
      change_link_in_machine(change, builder);  // may also name a wire: see override_wires
    }
  }
}

void override_wires(const TopologySpec& spec, TopologyBuilder& builder, Diagnostics& diagnostics) {
  const bool any_link = std::any_of(spec.overrides.begin(), spec.overrides.end(),
                                    [](const OverrideSpec& o) { return !o.link_ends.empty(); });
  const Topology& topology = builder.so_far();
  const auto out = any_link ? builder.links_by_source() : Csr<VertexId, LinkId>();
  for (const OverrideSpec& change : spec.overrides) {
    if (change.link_ends.empty()) {
      continue;
    }
    const auto as = find_vertices(topology, {change.link_ends[0]}, change.place, diagnostics);
    const auto bs = find_vertices(topology, {change.link_ends[1]}, change.place, diagnostics);
    const std::vector<LinkId> links = links_between(topology, out, as, bs);
    for (const LinkId link : links) {
      if (index_of(link) >= topology.fabric_first_link()) {  // others: override_machines
        const Bandwidth now = change.bandwidth.value_or(topology.bandwidth(link));
        builder.set_link(link, {now.bytes_per_s * change.bandwidth_scale},
                         change.latency.value_or(topology.latency(link)),
                         change.failed || topology.failed(link));
      }
    }
    if (links.empty() && !as.empty() && !bs.empty()) {
      complain(fmt::format("a link between {} and {}", change.link_ends[0], change.link_ends[1]),
               change, diagnostics);
    }
  }
}

}  // namespace twinrun
