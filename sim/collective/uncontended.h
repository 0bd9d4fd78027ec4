#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/collective/algorithms.h"
#include "core/topology/topology.h"
#include "sim/engine/route_cache.h"

namespace twinrun::sim {

struct UncontendedRun {
  std::vector<double> end_ps;      // by participant, from the common start
  std::vector<double> link_bytes;  // by link
  std::uint64_t messages = 0;
};

// The dates of a schedule that has the network to itself and whose messages never meet on a link.
// Then no solver is needed: a message takes its latency and its bytes over its narrowest link, from
// the moment both ends have come to its step. Nothing when two messages might meet.
//
// They cannot when in each step at most one message crosses a link, and all that cross it have one
// participant in common: that one is through with a step before it posts the next.
std::optional<UncontendedRun> run_uncontended(const CollectiveSchedule& schedule,
                                              std::span<const VertexId> participants,
                                              RouteCache& routes,
                                              const Topology& topology);

}  // namespace twinrun::sim
