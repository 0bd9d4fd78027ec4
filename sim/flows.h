#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/base/units.h"
#include "core/topology/topology.h"
#include "sim/net/flow_network.h"

namespace twinrun::sim {

struct FlowRequest {
  Time start{};  // not looked at with a window
  VertexId from{};
  VertexId to{};
  Bytes bytes{};
};

struct FlowTimes {
  Time start{};
  Time end{};
};

struct FlowResults {
  std::vector<FlowTimes> flows;  // in the order of the requests
  Time makespan{};               // the last end; the simulation begins at 0
  double mean_completion_s = 0;  // mean of the ends
};

// Moves the bytes of every request through the network. window 0: each starts at its own time.
// window W: the first W start at 0, and whenever one ends the next of the list starts. The index in
// the list is the flow number that routing spreads by. Throws CannotRun when two vertices are not
// connected.
FlowResults simulate_flows(const Topology& topology,
                           std::span<const FlowRequest> requests,
                           std::size_t window = 0);
// The same over a network of the caller's.
FlowResults simulate_flows(const Topology& topology,
                           std::span<const FlowRequest> requests,
                           std::size_t window,
                           FlowNetwork& network);

}  // namespace twinrun::sim
