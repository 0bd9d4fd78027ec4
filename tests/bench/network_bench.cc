#include <benchmark/benchmark.h>

#include "core/io/topology_argument.h"
#include "core/topology/build_topology.h"
#include "sim/flows.h"
#include "tests/sim/parameter_server.h"
#include "tests/sim/random_flows.h"

namespace twinrun::sim {
namespace {

Topology built(const std::string& argument) {
  Diagnostics diagnostics;
  Topology topology = build_topology(read_topology_argument(argument, diagnostics), diagnostics);
  diagnostics.throw_if_errors();
  return topology;
}

// FT(flows, uniform or equal, window) of the peer baselines.
void fat_tree(benchmark::State& state, Sizes sizes) {
  const Topology topology = built(kFatTree);
  const auto requests = random_flows(topology, static_cast<std::size_t>(state.range(0)), sizes);
  FlowResults results;
  for (auto _ : state) {
    results = simulate_flows(topology, requests, static_cast<std::size_t>(state.range(1)));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.counters["makespan_s"] = to_seconds(results.makespan);
  state.counters["mean_s"] = results.mean_completion_s;
}
void BM_FatTreeUniform(benchmark::State& state) { fat_tree(state, Sizes::kUniform); }
BENCHMARK(BM_FatTreeUniform)
    ->Args({10'000, 0})
    ->Args({10'000, 256})
    ->Args({10'000, 1024})
    ->Args({100'000, 1024})
    ->Unit(benchmark::kMillisecond);
void BM_FatTreeEqual(benchmark::State& state) { fat_tree(state, Sizes::kEqual); }
BENCHMARK(BM_FatTreeEqual)->Args({10'000, 0})->Unit(benchmark::kMillisecond);

// PSs(workers)
void BM_ParameterServer(benchmark::State& state) {
  const auto workers = static_cast<std::uint32_t>(state.range(0));
  const Topology topology = built("single-switch:hosts=" + std::to_string(workers + 1) +
                                  ",bandwidth=12.5GB/s,latency=1us");
  for (auto _ : state) {
    benchmark::DoNotOptimize(run_parameter_server(topology, workers));
  }
  state.SetItemsProcessed(state.iterations() * 2 * workers);
}
BENCHMARK(BM_ParameterServer)->Arg(1024)->Arg(4096)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace twinrun::sim
