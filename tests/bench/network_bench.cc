#include <array>

#include <benchmark/benchmark.h>

#include "core/io/topology_argument.h"
#include "core/topology/build_topology.h"
#include "sim/flows.h"
#include "tests/sim/parameter_server.h"
#include "tests/sim/random_flows.h"
#include "tests/sim/ring_groups.h"

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

// 100,000 short flows over 8 links each across 8 flows over 256 links each.
void BM_RingGroups(benchmark::State& state) {
  Time end{};
  for (auto _ : state) {
    end = RingGroups().run(100'000, state.range(0) != 0);
  }
  state.SetItemsProcessed(state.iterations() * 100'000);
  state.counters["end_s"] = to_seconds(end);
}
BENCHMARK(BM_RingGroups)->ArgName("lockstep")->Arg(1)->Arg(0)->Unit(benchmark::kMillisecond);

// Messages that meet nobody: every host of a switch sends to the next, again and again.
void BM_LockstepMessages(benchmark::State& state) {
  const auto hosts = static_cast<std::uint32_t>(state.range(0));
  SharedLinks links;
  for (std::uint32_t i = 0; i < 2 * hosts; ++i) {
    links.add({12.5e9}, microseconds(1));
  }
  MaxMin network(links);
  std::vector<FlowId> finished;
  Time now{};
  for (auto _ : state) {
    for (std::uint32_t i = 0; i < hosts; ++i) {
      const std::array route = {LinkId{2 * i}, LinkId{2 * ((i + 1) % hosts) + 1}};
      network.start(FlowId{i}, route, {97'656}, now);
    }
    finished.clear();
    while (finished.size() < hosts) {
      now = *network.next_event();
      network.advance_to(now, finished);
    }
  }
  state.SetItemsProcessed(state.iterations() * hosts);
}
BENCHMARK(BM_LockstepMessages)->Arg(1024)->Arg(4096)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace twinrun::sim
