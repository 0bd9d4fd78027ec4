#pragma once

#include <cstddef>
#include <future>

#include "cli/output.h"
#include "cli/run_input.h"
#include "cli/run_result.h"
#include "sim/simulate.h"

namespace twinrun::cli {

// Communication alone is a second run of the same plan; above this it is left out, and said so.
inline constexpr std::size_t kMostOpsForSecondRun = 500'000;

// A simulation and what `simulate` tells of it. The input must outlive it, and it stays where it
// is: its parts refer to each other.
struct SimulatedRun {
  SimulatedRun(const RunInput& input, const sim::SimulationOptions& options);
  SimulatedRun(const SimulatedRun&) = delete;
  SimulatedRun& operator=(const SimulatedRun&) = delete;

  double wall_s = 0;  // of the simulation alone
  sim::Simulation simulation;
  TraceIndex index;
  RunFacts facts;
  nlohmann::ordered_json result;  // twinrun/result/1, with the keys of a job where there is one

 private:
  SimulatedRun(const RunInput& input,
               const sim::SimulationOptions& options,
               std::future<bool> has_independent_workers);
};

}  // namespace twinrun::cli
