#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include "sim/simulate.h"
#include "tests/bench/gpt_step.h"
#include "tests/core/topology/topologies_for_tests.h"

namespace twinrun {
namespace {

// The generator and the simulation together: what a person waits for.
void simulate_gpt(benchmark::State& state) {
  const auto gpus = static_cast<std::size_t>(state.range(0));
  const Topology topology =
      topology_of(fmt::format("single-switch:hosts={},bandwidth=50GB/s,latency=1us", gpus));
  for (auto _ : state) {
    const GptStep step = gpt_step(gpus);
    const sim::Simulation run = sim::simulate(step.plan, topology);
    const bool plausible =
        run.trace.makespan >= step.compute && run.trace.makespan <= step.no_overlap;
    if (!plausible) {
      state.SkipWithError("not between the compute and the no-overlap bound");
    }
    state.counters["step_ms"] = to_seconds(run.trace.makespan) * 1e3;
    state.counters["compute_ms"] = to_seconds(step.compute) * 1e3;
    state.counters["no_overlap_ms"] = to_seconds(step.no_overlap) * 1e3;
    state.counters["ops"] = static_cast<double>(step.plan.size());
    state.counters["events"] = static_cast<double>(run.engine.events);
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["peak_MiB"] = static_cast<double>(usage.ru_maxrss) / 1024;
}

BENCHMARK(simulate_gpt)->Arg(64)->Arg(256)->Arg(1024)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
}  // namespace twinrun
