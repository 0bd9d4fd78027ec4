#include <cstdint>

#include <benchmark/benchmark.h>

#include "core/collective/algorithms.h"
#include "core/collective/prove.h"

namespace twinrun {
namespace {

// The sends of some steps of the ring all-reduce R(N): every rank, as a simulator asks for them.
void sends_of_a_ring(benchmark::State& state) {
  CollectiveSpec spec;
  spec.ranks = static_cast<std::uint32_t>(state.range(0));
  spec.bytes = 100'000'000;
  const CollectiveSchedule schedule(*find_collective_algorithm("ring"), spec);
  StepTransfers transfers;
  std::uint32_t step = 0;
  for (auto _ : state) {
    for (std::uint32_t rank = 0; rank < spec.ranks; ++rank) {
      schedule.transfers(rank, step, transfers);
      benchmark::DoNotOptimize(transfers.sends.data());
    }
    step = (step + 1) % schedule.steps();
  }
  state.SetItemsProcessed(state.iterations() * spec.ranks);
}
BENCHMARK(sends_of_a_ring)->Arg(64)->Arg(4096);

void proof_of_a_ring(benchmark::State& state) {
  CollectiveSpec spec;
  spec.ranks = static_cast<std::uint32_t>(state.range(0));
  spec.bytes = 4'000'012;
  const CollectiveSchedule schedule(*find_collective_algorithm("ring"), spec);
  for (auto _ : state) {
    benchmark::DoNotOptimize(prove(schedule));
  }
}
BENCHMARK(proof_of_a_ring)->Arg(33)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace twinrun
