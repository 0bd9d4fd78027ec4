#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/topology/fabric_routes.h"
#include "core/topology/node_routes.h"
#include "core/topology/topology.h"

namespace twinrun {

struct Route {
  std::vector<LinkId> links;
  PathClass path = PathClass::kDis;
  bool through_host = false;            // at least one end stages in host memory
  Time latency{};                       // sum over the links
  Bandwidth bandwidth{};                // of the slowest link; a link used twice counts half
  LinkId bottleneck = no_id<LinkId>();  // that link
};

// Finds ways between any two vertices: inside a machine by its shape, between machines over the
// NICs nearest to both ends and the fabric between those. Deterministic. Keeps what it has
// computed, so it is cheap to ask again; one Router per thread.
class Router {
 public:
  explicit Router(const Topology& topology);

  // Nothing when there is no way. Different flows of one pair may take different ways (ECMP).
  std::optional<Route> route(VertexId from, VertexId to, std::uint64_t flow = 0);
  // The links of the same way alone, in place of what was there; false when there is none. A few
  // times cheaper, for simulations that ask for every message.
  bool links(VertexId from, VertexId to, std::uint64_t flow, std::vector<LinkId>& links);
  // The same without P2P and GPUDirect rules, inside one machine: where the wires lead.
  std::optional<Route> wires(VertexId from, VertexId to);

 private:
  NodeRoutes& routes_in(NodeId node);
  [[nodiscard]] std::uint32_t local(VertexId v) const;
  const std::vector<VertexId>& ports_near(VertexId v);
  // Both append to the links and set through_host where that is so.
  bool append_local(VertexId from, VertexId to, std::vector<LinkId>& links, bool& through_host);
  bool find(VertexId from,
            VertexId to,
            std::uint64_t flow,
            std::vector<LinkId>& links,
            bool& through_host);
  void measure(Route& route) const;

  const Topology& topology_;
  std::vector<std::unique_ptr<NodeRoutes>> by_shape_;
  FabricRoutes fabric_;
  std::unordered_map<std::uint32_t, std::vector<VertexId>> ports_;  // by vertex, once asked for
};

}  // namespace twinrun
