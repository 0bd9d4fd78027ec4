#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "core/collective/algorithms.h"
#include "core/plan/plan_builder.h"
#include "exec/cpu/collective_exchange.h"
#include "exec/runner.h"

namespace twinrun::exec {
namespace {

class IdleBackend : public Backend {
 public:
  void run(OpId) override {}
  void stop() override {}
  [[nodiscard]] std::string algorithm(InstanceId) const override { return ""; }
};

// Four devices, each op waits for the one before it; every hundredth also for another device.
Plan empty_ops(std::size_t count) {
  constexpr std::size_t kDevices = 4;
  constexpr std::size_t kMeeting = 100;
  PlanBuilder builder("empty ops");
  std::vector<StreamId> streams;
  std::vector<OpId> last(kDevices, no_id<OpId>());
  for (std::size_t i = 0; i < kDevices; ++i) {
    streams.push_back(builder.stream(builder.add_device(fmt::format("cpu{}", i)), "compute"));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t device = i % kDevices;
    const OpId op = builder.add_marker(fmt::format("op{}@cpu{}", i, device), streams[device]);
    if (last[device] != no_id<OpId>()) {
      builder.depend(op, last[device]);
    }
    const std::size_t other = (device + 1) % kDevices;
    if (i / kDevices % kMeeting == 0 && last[other] != no_id<OpId>()) {
      builder.depend(op, last[other]);
    }
    last[device] = op;
  }
  return std::move(builder).finish();
}

// What the runner itself costs: at least a million ops a second are wanted.
void empty_ops_on_four_devices(benchmark::State& state) {
  const Plan plan = empty_ops(100'000);
  for (auto _ : state) {
    IdleBackend backend;
    benchmark::DoNotOptimize(run_plan(plan, backend));
  }
  state.SetItemsProcessed(state.iterations() * 100'000);
}
BENCHMARK(empty_ops_on_four_devices)->Unit(benchmark::kMillisecond)->UseRealTime();

// Over shared memory; the rate is nccl-tests' algorithm bandwidth.
void ring_all_reduce(benchmark::State& state) {
  CollectiveSpec spec;
  spec.ranks = static_cast<std::uint32_t>(state.range(0));
  spec.bytes = state.range(1) << 20;
  const CollectiveSchedule schedule(*find_collective_algorithm("ring"), spec);
  std::vector<std::vector<float>> arrays(
      spec.ranks, std::vector<float>(static_cast<std::size_t>(spec.bytes) / sizeof(float), 1));
  for (auto _ : state) {
    CollectiveExchange exchange(schedule);
    std::vector<std::thread> threads;
    for (std::uint32_t rank = 0; rank < spec.ranks; ++rank) {
      threads.emplace_back([&, rank] { exchange.run(rank, arrays[rank]); });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
  }
  state.SetBytesProcessed(state.iterations() * spec.bytes);
}
BENCHMARK(ring_all_reduce)
    ->Args({2, 1})
    ->Args({2, 64})
    ->Args({4, 64})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace twinrun::exec
