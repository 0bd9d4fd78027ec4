#include "core/topology/router.h"

#include <algorithm>
#include <limits>
#include <span>

#include "core/topology/path_class.h"

namespace twinrun {

Router::Router(const Topology& topology)
    : topology_(topology), by_shape_(topology.shapes().size()), fabric_(topology) {}

NodeRoutes& Router::routes_in(NodeId node) {
  std::unique_ptr<NodeRoutes>& routes = by_shape_[topology_.node(node).shape];
  if (!routes) {
    routes = std::make_unique<NodeRoutes>(topology_.shape(node));
  }
  return *routes;
}

std::uint32_t Router::local(VertexId v) const {
  return static_cast<std::uint32_t>(v) - topology_.node(topology_.node_of(v)).first_vertex;
}

// Where a vertex of a machine, without a wire of its own, meets the fabric: the NIC of its choice
// first, then the machine's other NICs (for fabrics whose rails are apart), then whatever else has
// a wire.
const std::vector<VertexId>& Router::ports_near(VertexId v) {
  auto [entry, is_new] = ports_.try_emplace(static_cast<std::uint32_t>(v));
  std::vector<VertexId>& ports = entry->second;
  if (!is_new) {
    return ports;
  }
  const NodeId node = topology_.node_of(v);
  const NodeShape& shape = topology_.shape(node);
  std::vector<std::uint32_t> locals = routes_in(node).nics_of(local(v));
  for (std::uint32_t other = 0; other < shape.vertices.size(); ++other) {
    if (shape.vertices[other].kind != VertexKind::kNic) {
      locals.push_back(other);
    }
  }
  for (const std::uint32_t port : locals) {
    if (fabric_.has_wire(topology_.vertex_in(node, port))) {
      ports.push_back(topology_.vertex_in(node, port));
    }
  }
  return ports;
}

bool Router::append_local(VertexId from,
                          VertexId to,
                          std::vector<LinkId>& links,
                          bool& through_host) {
  if (from == to) {
    return true;
  }
  const NodeId node = topology_.node_of(from);
  const auto way = routes_in(node).route(local(from), local(to));
  if (!way) {
    return false;
  }
  for (const std::uint32_t link : way->links) {
    links.push_back(topology_.link_in(node, link));
  }
  through_host = through_host || way->through_host;
  return true;
}

bool Router::find(VertexId from,
                  VertexId to,
                  std::uint64_t flow,
                  std::vector<LinkId>& links,
                  bool& through_host) {
  const NodeId home = topology_.node_of(from);
  if (from == to || (home != no_id<NodeId>() && home == topology_.node_of(to))) {
    return append_local(from, to, links, through_host);
  }
  const auto is_port = [&](VertexId v) {
    return fabric_.has_wire(v) || topology_.node_of(v) == no_id<NodeId>();
  };
  const std::span<const VertexId> leave =
      is_port(from) ? std::span(&from, 1) : std::span(ports_near(from));
  const std::span<const VertexId> enter =
      is_port(to) ? std::span(&to, 1) : std::span(ports_near(to));
  for (const VertexId b : enter) {
    for (const VertexId a : leave) {
      links.clear();
      through_host = false;
      if (append_local(from, a, links, through_host) && fabric_.route(a, b, flow, links) &&
          append_local(b, to, links, through_host)) {
        return true;
      }
    }
  }
  return false;
}

bool Router::links(VertexId from, VertexId to, std::uint64_t flow, std::vector<LinkId>& links) {
  links.clear();
  bool through_host = false;
  return find(from, to, flow, links, through_host);
}

std::optional<Route> Router::route(VertexId from, VertexId to, std::uint64_t flow) {
  Route route;
  if (!find(from, to, flow, route.links, route.through_host)) {
    return std::nullopt;
  }
  measure(route);
  return route;
}

std::optional<Route> Router::wires(VertexId from, VertexId to) {
  const NodeId node = topology_.node_of(from);
  if (node == no_id<NodeId>() || node != topology_.node_of(to)) {
    return std::nullopt;
  }
  const auto way = routes_in(node).direct(local(from), local(to));
  if (!way) {
    return std::nullopt;
  }
  Route route;
  for (const std::uint32_t link : way->links) {
    route.links.push_back(topology_.link_in(node, link));
  }
  measure(route);
  return route;
}

void Router::measure(Route& route) const {
  route.path = classify(topology_, route.links);
  route.latency = {};
  std::vector<LinkId> owners;
  for (const LinkId link : route.links) {
    owners.push_back(topology_.capacity_owner(link));
  }
  std::sort(owners.begin(), owners.end());
  double slowest = std::numeric_limits<double>::infinity();
  for (const LinkId link : route.links) {
    route.latency = route.latency + topology_.latency(link);
    const LinkId owner = topology_.capacity_owner(link);
    const auto [first, last] = std::equal_range(owners.begin(), owners.end(), owner);
    const double share = topology_.bandwidth(owner).bytes_per_s / static_cast<double>(last - first);
    if (share < slowest) {
      slowest = share;
      route.bottleneck = link;
    }
  }
  route.bandwidth = {route.links.empty() ? 0 : slowest};
}

}  // namespace twinrun
