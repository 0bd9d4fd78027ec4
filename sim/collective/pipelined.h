#pragma once

#include <vector>

#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/topology/topology.h"
#include "sim/collective/profile.h"

namespace twinrun::sim {

// A whole collective as one transfer: chunks follow each other so closely that every link of the
// ring or tree is loaded all the time, each by its share. First the latency, then `bytes` over all
// the links at one common rate; a link that carries twice as much stands in the list twice.
struct FluidCollective {
  Time latency{};
  Bytes bytes{};
  std::vector<LinkId> links;
  double most_bytes_per_s = 0;          // a limit besides the links; 0: none
  Time alone{};                         // what it takes with the links to itself
  LinkId bottleneck = no_id<LinkId>();  // the link that decides that
};

FluidCollective pipelined(const ScheduleProfile& profile, const Topology& topology);

}  // namespace twinrun::sim
