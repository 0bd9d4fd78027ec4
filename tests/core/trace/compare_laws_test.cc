#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "core/strategy/strategies.h"
#include "core/topology/build_topology.h"
#include "core/trace/compare.h"
#include "sim/simulate.h"
#include "tests/core/io/read_job_text.h"

// What holds for every pair of runs, tried on simulations of many strategies that noise has pulled
// apart.

namespace twinrun {
namespace {

struct Simulated {
  Plan plan;
  Trace trace;
  std::int64_t warmup_steps = 0;
  [[nodiscard]] ComparedRun compared() const { return {{plan, trace, warmup_steps}}; }
};

Simulated simulated(const std::string& strategy, std::int64_t steps, std::uint64_t seed) {
  const JobReading job =
      read_job_text(R"({"model": "mlp-64-32-16-8-4", "topology": "pcie-8gpu:gpus=4",
                        "training": {"local_batch_size": 8, "micro_batch_size": 2}})",
                    {"parallelism.strategy=" + strategy});
  EXPECT_EQ(job.codes(), "") << strategy;
  Diagnostics diagnostics;
  const Topology topology = build_topology(job.loaded.topology, diagnostics);
  auto compiled = compile(job.job(), job.loaded.model, topology, {.steps = steps}, diagnostics);
  EXPECT_TRUE(compiled) << strategy;
  sim::SimulationOptions options;
  options.noise = {seed == 0 ? sim::Jitter::kNone : sim::Jitter::kLognormal, 0.5, seed};
  Trace trace = sim::simulate(compiled->plan, topology, options).trace;
  return {std::move(compiled->plan), std::move(trace), compiled->warmup_steps};
}

class EveryStrategy : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryStrategy, SharesAddUpToTheDifferenceOfTheSteps) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    for (const std::int64_t steps : {4, 5, 6}) {
      const Simulated a = simulated(GetParam(), 5, 0);
      const Simulated b = simulated(GetParam(), steps, seed);
      for (const bool is_turned : {false, true}) {
        const Comparison both =
            is_turned ? compare(b.compared(), a.compared()) : compare(a.compared(), b.compared());
        double sum = both.waiting_difference_s;
        for (const OpDifference& op : both.ops) {
          sum += op.on_path_s;
        }
        EXPECT_NE(both.step_difference_s, 0);
        EXPECT_NEAR(sum, both.step_difference_s, 1e-13) << steps << " " << seed;
        EXPECT_TRUE(both.only_in_a.empty() && both.only_in_b.empty());
      }
    }
  }
}

TEST_P(EveryStrategy, PathsOfPhasesAndKindsFillTheStep) {
  const Simulated a = simulated(GetParam(), 5, 0);
  const Simulated b = simulated(GetParam(), 5, 7);
  const Comparison both = compare(a.compared(), b.compared());
  for (const auto& groups : {both.kinds, both.phases}) {
    double sum_a = 0;
    double sum_b = 0;
    for (const GroupDifference& group : groups) {
      sum_a += group.a.on_path_s;
      sum_b += group.b.on_path_s;
    }
    EXPECT_NEAR(sum_b - sum_a, both.step_difference_s, 1e-13);
  }
  EXPECT_FALSE(both.paths.a.empty());
}

TEST_P(EveryStrategy, AgainstItselfIsZeroWhateverTheNoise) {
  const Simulated a = simulated(GetParam(), 6, 3);
  const Comparison both = compare(a.compared(), a.compared());
  EXPECT_EQ(both.step_difference_s, 0);
  for (const OpDifference& op : both.ops) {
    EXPECT_EQ(op.on_path_s, 0) << op.name;
    EXPECT_EQ(op.a_s, op.b_s) << op.name;
  }
  EXPECT_TRUE(both.waits.empty());
  EXPECT_TRUE(both.paths.parting.are_same);
}

TEST_P(EveryStrategy, FiguresAreThoseOfTheBreakdown) {
  const Simulated a = simulated(GetParam(), 5, 2);
  const Comparison both = compare(a.compared(), a.compared());
  EXPECT_NEAR(to_seconds(both.a_breakdown.step), both.a.step_s, 1e-11);
}

INSTANTIATE_TEST_SUITE_P(Each,
                         EveryStrategy,
                         ::testing::Values("ddp",
                                           "data_parallel",
                                           "parameter_server",
                                           "mirrored",
                                           "tensor_parallel",
                                           "gpipe",
                                           "1f1b",
                                           "pipedream"),
                         [](const auto& param) {
                           return "s" + std::string(param.param);  // a name begins with a letter
                         });

}  // namespace
}  // namespace twinrun
