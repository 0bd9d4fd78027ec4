#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/topology/router.h"
#include "sim/net/max_min.h"

namespace twinrun::sim {

// round(100 MB (1 + i/n)) for worker i
inline std::vector<std::int64_t> spread_shares(std::uint32_t n) {
  std::vector<std::int64_t> shares;
  for (std::uint32_t i = 0; i < n; ++i) {
    shares.push_back(std::llround(100e6 * (1 + static_cast<double>(i) / n)));
  }
  return shares;
}

// PSe(n): every worker pushes 100 MB to the last host; when all are in, it sends as much back.
inline Time run_equal_parameter_server(const Topology& topology, std::uint32_t n) {
  const std::vector<VertexId> hosts = topology.compute_devices();
  Router router(topology);
  MaxMin network(shared_links(topology));
  std::vector<LinkId> route;
  std::vector<FlowId> finished;
  Time now{};
  for (const bool is_push : {true, false}) {
    for (std::uint32_t i = 0; i < n; ++i) {
      router.links(hosts[is_push ? i : n], hosts[is_push ? n : i], 0, route);
      network.start(FlowId{i}, route, {100'000'000}, now);
    }
    while (const std::optional<Time> event = network.next_event()) {
      now = *event;
      network.advance_to(now, finished);
    }
  }
  return now;
}

// PSs(n): every worker pushes its share to the last host, which answers each the moment it is in.
inline Time run_parameter_server(const Topology& topology, std::uint32_t n) {
  const std::vector<VertexId> hosts = topology.compute_devices();
  const std::vector<std::int64_t> shares = spread_shares(n);
  Router router(topology);
  MaxMin network(shared_links(topology));
  std::vector<LinkId> route;
  for (std::uint32_t i = 0; i < n; ++i) {
    router.links(hosts[i], hosts[n], 0, route);
    network.start(FlowId{i}, route, {shares[i]}, {});
  }
  Time now{};
  std::vector<FlowId> finished;
  while (const std::optional<Time> event = network.next_event()) {
    now = *event;
    finished.clear();
    network.advance_to(now, finished);
    for (const FlowId flow : finished) {
      const std::size_t i = index_of(flow);
      if (i < n) {
        router.links(hosts[n], hosts[i], 0, route);
        network.start(id_at<FlowId>(n + i), route, {shares[i]}, now);
      }
    }
  }
  return now;
}

}  // namespace twinrun::sim
