#include <benchmark/benchmark.h>

#include "core/io/load_plan.h"
#include "core/io/save_plan.h"
#include "core/plan/summary.h"
#include "core/plan/validate.h"
#include "tests/bench/training_plan.h"

namespace twinrun {
namespace {

constexpr std::size_t kRanks = 64;

void report(benchmark::State& state, const Plan& plan) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(plan.size()));
  state.counters["ops"] = static_cast<double>(plan.size());
  state.counters["edges"] = static_cast<double>(plan.edge_count());
  state.counters["B/op"] = plan.memory_use().bytes_per_op;
  state.counters["B/edge"] = plan.memory_use().bytes_per_edge;
}

void build_plan(benchmark::State& state) {
  const auto ops = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
    benchmark::DoNotOptimize(training_plan(ops, kRanks).size());
  }
  report(state, training_plan(ops, kRanks));
}

void validate_plan(benchmark::State& state) {
  const Plan plan = training_plan(static_cast<std::size_t>(state.range(0)), kRanks);
  for (auto _ : state) {
    if (validate(plan).has_errors()) {
      state.SkipWithError("the plan must be valid");
    }
  }
  report(state, plan);
}

void load_plan_text(benchmark::State& state) {
  const Plan plan = training_plan(static_cast<std::size_t>(state.range(0)), kRanks);
  const Source source = Source::of_text("plan.json", plan_to_json(plan));
  for (auto _ : state) {
    Diagnostics diagnostics;
    const auto loaded = load_plan(source, diagnostics);
    if (!loaded || diagnostics.has_errors()) {
      state.SkipWithError("the plan must load");
    }
  }
  report(state, plan);
}

void save_plan_text(benchmark::State& state) {
  const Plan plan = training_plan(static_cast<std::size_t>(state.range(0)), kRanks);
  std::size_t bytes = 0;
  for (auto _ : state) {
    save_plan(plan, [&](std::string_view chunk) { bytes += chunk.size(); });
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
  report(state, plan);
}

void summarize_plan(benchmark::State& state) {
  const Plan plan = training_plan(static_cast<std::size_t>(state.range(0)), kRanks);
  for (auto _ : state) {
    benchmark::DoNotOptimize(summarize(plan).width);
  }
  report(state, plan);
}

BENCHMARK(build_plan)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(validate_plan)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(load_plan_text)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(save_plan_text)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(summarize_plan)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace twinrun
