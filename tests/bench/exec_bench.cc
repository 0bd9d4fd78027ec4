#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "core/collective/algorithms.h"
#include "core/model/catalogue.h"
#include "core/plan/plan_builder.h"
#include "core/trace/steps.h"
#include "exec/backends.h"
#include "exec/cpu/collective_exchange.h"
#include "exec/cpu/matrix_product.h"
#include "exec/runner.h"
#include "tests/core/strategy/example_jobs.h"

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

constexpr std::int64_t kWidth = 2048;
constexpr std::int64_t kBatch = 1024;
constexpr std::int64_t kSteps = 5;

CompiledJob large_products() {
  Job job;
  job.name = "products";
  job.parallelism.strategy = "single";
  job.training.global_batch_size = kBatch;
  Diagnostics diagnostics;
  return compile(job, *catalogue_model(fmt::format("mlp-{0}-{0}-{0}-16", kWidth), 0),
                 example_topology("cpu:devices=1"), {.steps = kSteps, .for_execution = true},
                 diagnostics)
      .value();
}

// The products of a step, each on operands of its own as in the step: forward and by weight of each
// layer, by input of all but the first.
class PlainLoop {
 public:
  explicit PlainLoop(const Products& products) : products_(products) {
    for (std::size_t layer = 0; layer < kOutputs.size(); ++layer) {
      rows_.emplace_back(static_cast<std::size_t>(kBatch * kWidth), 0.5F);
      row_gradients_.emplace_back(static_cast<std::size_t>(kBatch * kWidth), 0.5F);
      weights_.emplace_back(static_cast<std::size_t>(kOutputs[layer] * kWidth), 0.5F);
      weight_gradients_.emplace_back(weights_.back());
    }
    rows_.emplace_back(static_cast<std::size_t>(kBatch * kOutputs.back()));
    row_gradients_.emplace_back(rows_.back());
  }

  void step() {
    for (std::size_t layer = 0; layer < kOutputs.size(); ++layer) {
      products_.multiply({.m = kBatch,
                          .n = kOutputs[layer],
                          .k = kWidth,
                          .a = rows_[layer].data(),
                          .b = weights_[layer].data(),
                          .c = rows_[layer + 1].data(),
                          .transposes_b = true});
    }
    for (std::size_t layer = kOutputs.size(); layer-- > 0;) {
      products_.multiply({.m = kOutputs[layer],
                          .n = kWidth,
                          .k = kBatch,
                          .a = row_gradients_[layer + 1].data(),
                          .b = rows_[layer].data(),
                          .c = weight_gradients_[layer].data(),
                          .transposes_a = true});
      if (layer > 0) {
        products_.multiply({.m = kBatch,
                            .n = kWidth,
                            .k = kOutputs[layer],
                            .a = row_gradients_[layer + 1].data(),
                            .b = weights_[layer].data(),
                            .c = row_gradients_[layer].data()});
      }
    }
  }

 private:
  static constexpr std::array kOutputs = {kWidth, kWidth, std::int64_t{16}};
  const Products& products_;
  std::vector<std::vector<float>> rows_;
  std::vector<std::vector<float>> row_gradients_;
  std::vector<std::vector<float>> weights_;
  std::vector<std::vector<float>> weight_gradients_;
};

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Of a run, without the first, which is given its memory.
void add_step_times(const Plan& plan, const Trace& trace, std::vector<double>& seconds) {
  const std::vector<Time> times = StepEnds(plan, trace).times();
  for (std::size_t i = 1; i < times.size(); ++i) {
    seconds.push_back(to_seconds(times[i]));
  }
}

// A step that is nearly all products, beside the same products in a plain loop, in turns: what the
// step takes more (at most 3 % are wanted) is the runner's, and the elementwise work.
void step_of_products(benchmark::State& state) {
  const CompiledJob compiled = large_products();
  const Products products(ProductLibrary::kOpenBlas);
  PlainLoop loop(products);
  loop.step();
  std::vector<double> loop_s;
  std::vector<double> steps_s;
  for (auto _ : state) {
    for (std::int64_t step = 1; step < kSteps; ++step) {
      loop_s.push_back(seconds_of([&] { loop.step(); }));
    }
    const Execution run = find_backend("cpu")->execute(compiled.plan, {});
    add_step_times(compiled.plan, run.outcome.trace, steps_s);
  }
  state.counters["step_over_loop"] = median(steps_s) / median(loop_s);
}
BENCHMARK(step_of_products)->Unit(benchmark::kMillisecond)->UseRealTime()->Iterations(5);

}  // namespace
}  // namespace twinrun::exec
