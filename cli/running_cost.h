#pragma once

#include <optional>
#include <span>

#include "core/base/ids.h"
#include "core/topology/topology.h"

namespace twinrun::cli {

// What the machines take that these devices are in: whole machines, since nobody rents half of one.
// A machine's own figure when it has one, else the sum of its devices'. Nothing when a machine has
// neither.
struct RunningCost {
  std::optional<double> price_per_hour;
  std::optional<double> watts;
};

RunningCost running_cost(const Topology& topology, std::span<const VertexId> devices);

}  // namespace twinrun::cli
