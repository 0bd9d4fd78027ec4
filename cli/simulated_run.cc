#include "cli/simulated_run.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "cli/beside.h"
#include "cli/job_result.h"
#include "cli/job_search.h"
#include "cli/one_device.h"
#include "core/strategy/strategies.h"
#include "core/trace/staleness.h"
#include "core/trace/steps.h"
#include "core/trace/trace_index.h"

namespace twinrun::cli {
namespace {

nlohmann::ordered_json engine_json(const sim::Simulation& run, double wall_s) {
  return {{"events", run.engine.events},
          {"events_per_s", wall_s > 0 ? static_cast<double>(run.engine.events) / wall_s : 0},
          {"wall_s", wall_s},
          {"fidelity", run.fidelity.empty() ? "none" : run.fidelity},
          {"why", run.why},
          {"instants", run.engine.instants},
          {"transfers", run.engine.transfers}};
}

// Communication alone: nothing else takes time.
std::optional<Time> communication_alone(const RunInput& input,
                                        const sim::SimulationOptions& simulation) {
  if (input.plan.size() > kMostOpsForSecondRun) {
    return std::nullopt;
  }
  sim::SimulationOptions alone = simulation;
  alone.compute_scale = 0;
  const Trace trace = sim::simulate(input.plan, input.topology, alone).trace;
  const std::int64_t warmup_steps = input.job ? input.job->warmup_steps : 0;
  const StepEnds ends(input.plan, trace);
  const auto steps = static_cast<std::int64_t>(ends.times().size()) - warmup_steps;
  const Time begin = ends.before(warmup_steps);
  return Time{(trace.makespan - begin).ps / std::max<std::int64_t>(1, steps)};
}

// The plan of a job comes unchecked; where its run comes to a stand, the check tells why.
sim::Simulation simulated(const RunInput& input,
                          const sim::SimulationOptions& options,
                          double& wall_s) {
  const auto begin = std::chrono::steady_clock::now();
  try {
    sim::Simulation run = sim::simulate(input.plan, input.topology, options);
    wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return run;
  } catch (const CannotRun&) {
    if (input.job) {
      Diagnostics diagnostics;
      check_waiting(input.job->loaded.job, input.plan, diagnostics);
      throw_if_impossible(input.job->loaded.job, diagnostics);
    }
    throw;
  }
}

TraceIndex indexed(const Plan& plan, const Trace& trace, bool has_independent_workers) {
  std::future<Csr<DeviceId, OpId>> order =
      beside(plan, [&] { return order_by_start(plan, trace); });
  StepEnds steps(plan, trace);
  return {plan, trace, std::move(steps), has_independent_workers, order.get()};
}

}  // namespace

SimulatedRun::SimulatedRun(const RunInput& input, const sim::SimulationOptions& options)
    : SimulatedRun(input, options, beside(input.plan, [&input] {
                     return workers_are_independent(input.plan);
                   })) {}

SimulatedRun::SimulatedRun(const RunInput& input,
                           const sim::SimulationOptions& options,
                           std::future<bool> has_independent_workers)
    : simulation(simulated(input, options, wall_s)),
      index(indexed(input.plan, simulation.trace, has_independent_workers.get())),
      facts{input.plan, input.topology, simulation.trace, index, simulation.memory} {
  facts.communication_alone = communication_alone(input, options);
  facts.warmup_steps = input.job ? input.job->warmup_steps : 0;
  result = result_json(facts);
  result["engine"] = engine_json(simulation, wall_s);
  result["warnings"] = nlohmann::ordered_json::array();
  if (input.job) {
    const bool is_alone = input.job->layout.ranks() == 1;
    add_job_keys(result, input, is_alone ? std::nullopt : one_device_samples_per_s(input));
  }
}

}  // namespace twinrun::cli
