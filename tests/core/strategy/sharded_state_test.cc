#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/strategy/example_jobs.h"

namespace twinrun {
namespace {

Job zero_job(std::int64_t stage) {
  Job job = example_job("ddp", 1);
  job.training.dtype = Dtype::kBf16;
  job.training.optimizer = Optimizer::kAdam;
  job.parallelism.zero_stage = stage;
  return job;
}

// Parameters, gradients and optimizer state that rank 0 holds all the time.
std::int64_t held_bytes(const Plan& plan) {
  std::int64_t sum = 0;
  for (const MemoryEffect& effect : plan.memory_effects(*plan.find("setup@rank0"))) {
    const bool is_state = effect.part() == MemoryPart::kParameters ||
                          effect.part() == MemoryPart::kGradients ||
                          effect.part() == MemoryPart::kOptimizer;
    sum += is_state ? effect.bytes().count : 0;
  }
  return sum;
}

std::map<CollectiveKind, std::int64_t> bytes_by_kind(const Plan& plan) {
  std::map<CollectiveKind, std::int64_t> out;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const auto op = id_at<OpId>(i);
    if (plan.kind(op) == OpKind::kCollective && plan.id(op).ends_with("@rank0")) {
      out[plan.shape(op).kind] += plan.collective(op).bytes.count;
    }
  }
  return out;
}

constexpr std::int64_t kGpt2 = 124'439'808;

// arXiv:1910.02054, figure 1: 16 bytes a parameter, 4 + 12/N, 2 + 14/N, 16/N.
TEST(ShardedState, BytesAParameterAreThoseOfThePaper) {
  const std::map<std::int64_t, double> expected = {
      {0, 16}, {1, 4 + 12.0 / 8}, {2, 2 + 14.0 / 8}, {3, 16.0 / 8}};
  for (const auto& [stage, bytes] : expected) {
    const Example example = compile_example(zero_job(stage), "gpt2", "dgx-a100");
    EXPECT_NEAR(static_cast<double>(held_bytes(example.plan())), bytes * kGpt2, 3) << stage;
  }
}

// Stages 1 and 2 move what an all-reduce moves, stage 3 half as much again.
TEST(ShardedState, TrafficIsTwoOrThreeTimesTheWeights) {
  for (const std::int64_t stage : {1, 2}) {
    const Example example = compile_example(zero_job(stage), "gpt2", "dgx-a100");
    EXPECT_EQ(bytes_by_kind(example.plan()),
              (std::map<CollectiveKind, std::int64_t>{{CollectiveKind::kReduceScatter, 2 * kGpt2},
                                                      {CollectiveKind::kAllGather, 2 * kGpt2}}));
  }
  const Example example = compile_example(zero_job(3), "gpt2", "dgx-a100");
  EXPECT_EQ(bytes_by_kind(example.plan()),
            (std::map<CollectiveKind, std::int64_t>{{CollectiveKind::kReduceScatter, 2 * kGpt2},
                                                    {CollectiveKind::kAllGather, 4 * kGpt2}}));
}

// Else the weights of the step before are handed out.
TEST(ShardedState, WeightsAreGatheredAfterTheirUpdate) {
  const Example example = compile_example(zero_job(3), "gpt2", "dgx-a100", 2);
  const Plan& plan = example.plan();
  const Trace trace = example.simulate().trace;
  const Time updated = trace.ops[index_of(*plan.find("step0/update@rank0"))].end;
  std::size_t gathers = 0;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const std::string_view id = plan.id(id_at<OpId>(i));
    if (id.starts_with("step1/all_gather/") && id.ends_with("@rank0")) {
      EXPECT_GE(trace.ops[i].start, updated) << id;
      ++gathers;
    }
  }
  EXPECT_GT(gathers, 0U);
}

TEST(ShardedState, HybridShardsInTheMachineAndReducesBetween) {
  Job job = zero_job(3);
  job.parallelism.data_parallel_shard_degree = 8;
  const Example example = compile_example(job, "gpt2", "dgx-a100:nodes=2");
  const auto bytes = bytes_by_kind(example.plan());
  EXPECT_NEAR(static_cast<double>(bytes.at(CollectiveKind::kAllReduce)), 2.0 * kGpt2 / 8, 200);
  EXPECT_GT(example.simulate().trace.makespan.ps, 0);
}

// What is gathered is given back: peaks of later steps are no higher.
TEST(ShardedState, GatheredWeightsAreGivenBack) {
  Job job = zero_job(3);
  job.training.gradient_accumulation = 2;
  job.training.local_batch_size = 2;
  job.training.recompute = Recompute::kFull;
  const auto peak = [&](std::int64_t steps) {
    return compile_example(job, "gpt2", "dgx-a100", steps).simulate().memory.front().peak.count;
  };
  EXPECT_EQ(peak(1), peak(4));
}

}  // namespace
}  // namespace twinrun
