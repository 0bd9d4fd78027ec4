#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/collective/algorithms.h"
#include "core/topology/topology.h"
#include "sim/engine/route_cache.h"

namespace twinrun::sim {

struct LinkLoad {
  LinkId link{};  // the owner of the capacity
  double bytes = 0;
};

// What a schedule does to the links of a topology, on its own.
struct ScheduleProfile {
  Time latency{};               // of its steps one after another: the sum of each one's longest way
  std::vector<LinkLoad> loads;  // by link; only links that carry something
  double lockstep_ps = 0;       // if every step waited for the slowest message of the one before
};

// participants[i] is where rank i (then server i - ranks) runs.
ScheduleProfile profile(const CollectiveSchedule& schedule,
                        std::span<const VertexId> participants,
                        RouteCache& routes,
                        const Topology& topology);

}  // namespace twinrun::sim
