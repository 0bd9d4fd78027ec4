#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/topology/router.h"
#include "core/topology/topology.h"

namespace twinrun::sim {

// A way between two vertices, with what a message that has it to itself needs to know.
struct CachedRoute {
  std::uint32_t first = 0;  // in the cache's list of links
  std::uint32_t size = 0;
  std::int64_t latency_ps = 0;
  double bytes_per_ps = 0;  // of the narrowest link; 0 when there is no link
};

// The routes that were asked for, kept: a schedule asks for the same few ways millions of times.
class RouteCache {
 public:
  explicit RouteCache(const Topology& topology);

  // Throws CannotRun when the two are not connected. Valid until the next call.
  const CachedRoute& find(VertexId from, VertexId to);
  [[nodiscard]] std::span<const LinkId> links(const CachedRoute& route) const {
    return {links_.data() + route.first, route.size};
  }

 private:
  const Topology& topology_;
  Router router_;
  std::unordered_map<std::uint64_t, CachedRoute> routes_;
  std::vector<LinkId> links_;
};

}  // namespace twinrun::sim
