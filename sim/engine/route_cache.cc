#include "sim/engine/route_cache.h"

#include <fmt/format.h>

#include "core/base/diagnostics.h"

namespace twinrun::sim {

RouteCache::RouteCache(const Topology& topology) : topology_(topology), router_(topology) {}

const CachedRoute& RouteCache::find(VertexId from, VertexId to) {
  const std::uint64_t key = std::uint64_t{index_of(from)} << 32 | index_of(to);
  const auto known = routes_.find(key);
  if (known != routes_.end()) {
    return known->second;
  }
  const std::optional<Route> route = router_.route(from, to);
  if (!route) {
    throw CannotRun(fmt::format("there is no way from {} to {} in {}", topology_.name(from),
                                topology_.name(to), topology_.name()));
  }
  CachedRoute cached;
  cached.first = static_cast<std::uint32_t>(links_.size());
  cached.size = static_cast<std::uint32_t>(route->links.size());
  cached.latency_ps = route->latency.ps;
  cached.bytes_per_ps = route->links.empty() ? 0 : route->bandwidth.bytes_per_s * 1e-12;
  links_.insert(links_.end(), route->links.begin(), route->links.end());
  return routes_.emplace(key, cached).first->second;
}

}  // namespace twinrun::sim
