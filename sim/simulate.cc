#include "sim/simulate.h"

#include "sim/engine/engine.h"

namespace twinrun::sim {

Simulation simulate(const Plan& plan, const Topology& topology, const SimulationOptions& options) {
  return Engine(plan, topology, options).run();
}

}  // namespace twinrun::sim
