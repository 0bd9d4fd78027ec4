#include "core/topology/apply_overrides.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/base/did_you_mean.h"
#include "core/topology/name_lookup.h"
#include "core/topology/name_pattern.h"

namespace twinrun {
namespace {

// A pattern's machine part and the rest. In a single machine the machine part may be left out.
struct LocalPattern {
  NodeId node{};
  std::string local;
};

std::vector<LocalPattern> split_by_machine(const Topology& topology, const std::string& text) {
  const std::size_t slash = text.find('/');
  std::vector<LocalPattern> found;
  for (std::size_t n = 0; n < topology.node_count(); ++n) {
    const NodeId node = id_at<NodeId>(n);
    const auto machine =
        slash == std::string::npos ? std::nullopt : NamePattern::parse(text.substr(0, slash));
    if (machine && machine->matches(topology.node_name(node))) {
      found.push_back({node, text.substr(slash + 1)});
    } else if (topology.node_count() == 1) {
      found.push_back({node, text});
    }
  }
  return found;
}

std::vector<std::uint32_t> matching(const NodeShape& shape, const std::string& text) {
  std::vector<std::uint32_t> found;
  const auto pattern = NamePattern::parse(text);
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

void change_vertices(const TopologySpec& spec,
                     const OverrideSpec& change,
                     TopologyBuilder& builder,
                     Diagnostics& diagnostics) {
  for (const std::string& text : change.vertices) {
    bool any = false;
    for (const LocalPattern& at : split_by_machine(builder.so_far(), text)) {
      const auto locals = matching(builder.so_far().shape(at.node), at.local);
      any = any || !locals.empty();
      for (const std::uint32_t local : locals) {
        NodeShape::Vertex& vertex = builder.own_shape(at.node).vertices[local];
        vertex.compute_scale *= change.compute_scale;
        vertex.memory_bandwidth_scale *= change.memory_bandwidth_scale;
        const auto device =
            std::find_if(spec.devices.begin(), spec.devices.end(),
                         [&](const DeviceSpec& d) { return d.name == change.device; });
        if (device != spec.devices.end()) {
          vertex.device = static_cast<std::uint32_t>(device - spec.devices.begin());
        }
      }
    }
    if (!any) {
      complain(fmt::format("\"{}\"", text), change, diagnostics);
    }
  }
}

void change_link(NodeShape::Link& link, const OverrideSpec& change) {
  link.bandwidth = {change.bandwidth.value_or(link.bandwidth).bytes_per_s * change.bandwidth_scale};
  link.latency = change.latency.value_or(link.latency);
  link.failed = link.failed || change.failed;
}

using EachPair = std::function<bool(NodeShape&, std::uint32_t, std::uint32_t)>;

// Calls for every pair of vertices the two patterns name within one machine; true when any was
// used.
bool for_each_pair(const std::vector<std::string>& ends,
                   TopologyBuilder& builder,
                   const EachPair& use) {
  bool any = false;
  for (const LocalPattern& a : split_by_machine(builder.so_far(), ends[0])) {
    for (const LocalPattern& b : split_by_machine(builder.so_far(), ends[1])) {
      if (a.node != b.node) {
        continue;
      }
      const auto firsts = matching(builder.so_far().shape(a.node), a.local);
      const auto seconds = matching(builder.so_far().shape(a.node), b.local);
      if (firsts.empty() || seconds.empty()) {
        continue;
      }
      NodeShape& shape = builder.own_shape(a.node);
      for (const std::uint32_t first : firsts) {
        for (const std::uint32_t second : seconds) {
          any = use(shape, first, second) || any;
        }
      }
    }
  }
  return any;
}

bool change_link_in_machine(const OverrideSpec& change, TopologyBuilder& builder) {
  return for_each_pair(
      change.link_ends, builder, [&](NodeShape& shape, std::uint32_t a, std::uint32_t b) {
        bool any = false;
        for (NodeShape::Link& link : shape.links) {
          if ((link.from == a && link.to == b) || (link.from == b && link.to == a)) {
            change_link(link, change);
            any = true;
          }
        }
        return any;
      });
}

void change_p2p(const OverrideSpec& change, TopologyBuilder& builder, Diagnostics& diagnostics) {
  const bool any = for_each_pair(
      change.p2p_pair, builder, [&](NodeShape& shape, std::uint32_t a, std::uint32_t b) {
        if (a == b) {
          return false;
        }
        auto& to = change.p2p_allowed ? shape.p2p_granted : shape.p2p_denied;
        auto& other = change.p2p_allowed ? shape.p2p_denied : shape.p2p_granted;
        to.insert({{a, b}, {b, a}});
        other.erase({a, b});
        other.erase({b, a});
        return true;
      });
  if (!any) {
    complain(
        fmt::format("the pair {} and {} of one machine", change.p2p_pair[0], change.p2p_pair[1]),
        change, diagnostics);
  }
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
  for (const OverrideSpec& change : spec.overrides) {
    if (change.link_ends.empty()) {
      continue;
    }
    const Topology& topology = builder.so_far();
    auto as = find_vertices(topology, {change.link_ends[0]}, change.place, diagnostics);
    auto bs = find_vertices(topology, {change.link_ends[1]}, change.place, diagnostics);
    std::sort(as.begin(), as.end());
    std::sort(bs.begin(), bs.end());
    const auto ends_match = [&](VertexId a, VertexId b) {
      return std::binary_search(as.begin(), as.end(), a) &&
             std::binary_search(bs.begin(), bs.end(), b);
    };
    bool any = false;
    for (std::size_t l = 0; l < topology.link_count(); ++l) {
      const LinkId link = id_at<LinkId>(l);
      if (!ends_match(topology.from(link), topology.to(link)) &&
          !ends_match(topology.to(link), topology.from(link))) {
        continue;
      }
      any = true;
      if (l >= topology.fabric_first_link()) {
        const Bandwidth now = change.bandwidth.value_or(topology.bandwidth(link));
        builder.set_link(link, {now.bytes_per_s * change.bandwidth_scale},
                         change.latency.value_or(topology.latency(link)),
                         change.failed || topology.failed(link));
      }
    }
    if (!any && !as.empty() && !bs.empty()) {
      complain(fmt::format("a link between {} and {}", change.link_ends[0], change.link_ends[1]),
               change, diagnostics);
    }
  }
}

}  // namespace twinrun
