#include <benchmark/benchmark.h>

#include "core/io/topology_argument.h"
#include "core/topology/bisection.h"
#include "core/topology/build_topology.h"
#include "core/topology/router.h"

namespace twinrun {
namespace {

TopologySpec large() {
  Diagnostics diagnostics;
  TopologySpec spec =
      read_topology_argument("dgx-h100:nodes=2048,fabric=rail-optimized", diagnostics);
  diagnostics.throw_if_errors();
  return spec;
}

Topology built(const TopologySpec& spec) {
  Diagnostics diagnostics;
  Topology topology = build_topology(spec, diagnostics);
  diagnostics.throw_if_errors();
  return topology;
}

void BM_Read(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(large());
  }
}
BENCHMARK(BM_Read)->Unit(benchmark::kMillisecond);

void BM_Expand(benchmark::State& state) {
  const TopologySpec spec = large();
  for (auto _ : state) {
    benchmark::DoNotOptimize(built(spec));
  }
}
BENCHMARK(BM_Expand)->Unit(benchmark::kMillisecond);

void BM_FirstFarRoute(benchmark::State& state) {
  const Topology topology = built(large());
  const VertexId from = *topology.find("node0/gpu0");
  const VertexId to = *topology.find("node2047/gpu5");
  for (auto _ : state) {
    Router router(topology);
    benchmark::DoNotOptimize(router.route(from, to));
  }
}
BENCHMARK(BM_FirstFarRoute)->Unit(benchmark::kMillisecond);

void BM_NextRoutes(benchmark::State& state) {
  const Topology topology = built(large());
  Router router(topology);
  std::uint32_t n = 0;
  for (auto _ : state) {
    n = (n + 613) % 2048;
    benchmark::DoNotOptimize(
        router.route(topology.vertex_in(id_at<NodeId>(n), n % 8),
                     topology.vertex_in(id_at<NodeId>((n + 1024) % 2048), n % 5), n));
  }
}
BENCHMARK(BM_NextRoutes)->Unit(benchmark::kMicrosecond);

void BM_Bisection(benchmark::State& state) {
  const Topology topology = built(large());
  for (auto _ : state) {
    benchmark::DoNotOptimize(bisection_bandwidth(topology));
  }
}
BENCHMARK(BM_Bisection)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace twinrun

BENCHMARK_MAIN();
