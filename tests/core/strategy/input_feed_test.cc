#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/trace/breakdown.h"
#include "core/trace/steps.h"
#include "tests/core/strategy/synthetic.h"

namespace twinrun {
namespace {

using ::testing::HasSubstr;

constexpr double kMs = 1e-3;

// Ten samples a step, which compute for 3 ms; reading, decoding and copying take what is given.
struct InputTimes {
  double read_ms = 0;
  double decode_ms = 0;
  double copy_ms = 0;
};

Job fed_job(const std::string& strategy, const InputTimes& times, std::int64_t prefetch) {
  Job job = example_job(strategy, 10);
  job.input.given = true;
  job.input.prefetch = prefetch;
  if (times.read_ms > 0) {
    job.input.sample_bytes = 1000;
    job.input.storage_bandwidth = Bandwidth{10'000 / (times.read_ms * kMs)};
  }
  if (times.decode_ms > 0) {  // four cores
    job.input.decode_samples_per_core = 10 / (times.decode_ms * kMs) / 4;
  }
  return job;
}

Model fed_model(const InputTimes& times) {
  Model model = equal_blocks(1, {.flops = 100'000'000});
  model.inputs = static_cast<std::int64_t>(times.copy_ms * kMs * 1e9 / 10 / 4);  // fp32
  return model;
}

std::vector<double> steps_ms(const InputTimes& times, std::int64_t prefetch) {
  const Example example =
      compile_on(fed_job("single", times, prefetch), fed_model(times), devices_with_host(1), 8);
  std::vector<double> out;
  for (const Time time : StepEnds(example.plan(), example.simulate().trace).times()) {
    out.push_back(to_seconds(time) / kMs);
  }
  return out;
}

TEST(InputFeed, WithoutPrefetchEverythingHappensInTurn) {
  for (const double step : steps_ms({1, 2, 0.5}, 0)) {
    EXPECT_NEAR(step, 1 + 2 + 0.5 + 3, 1e-6);
  }
}

// The first batch has nothing to hide behind.
TEST(InputFeed, FirstStepWaitsForItsBatch) {
  EXPECT_NEAR(steps_ms({1, 2, 0.5}, 2).front(), 1 + 2 + 0.5 + 3, 1e-6);
}

// Stages of a pipeline run beside each other: the slowest decides.
TEST(InputFeed, WithPrefetchTheSlowestDecides) {
  EXPECT_NEAR(steps_ms({1, 2, 0.5}, 2).at(6), 3, 1e-6);
  EXPECT_NEAR(steps_ms({5, 2, 0.5}, 2).at(6), 5, 1e-6);
  EXPECT_NEAR(steps_ms({1, 4, 0.5}, 2).at(6), 4, 1e-6);
  EXPECT_NEAR(steps_ms({1, 2, 6}, 2).at(6), 6, 1e-6);
}

// One batch ahead: it has the time of one step for all of its way.
TEST(InputFeed, OneBatchAheadHidesOneStep) {
  EXPECT_NEAR(steps_ms({2, 2, 0.5}, 1).at(6), 4.5, 1e-6);
  EXPECT_NEAR(steps_ms({1, 1, 0.5}, 1).at(6), 3, 1e-6);
}

TEST(InputFeed, WaitIsCalledInputWait) {
  const InputTimes times{5, 0, 0};
  const Example example =
      compile_on(fed_job("single", times, 2), fed_model(times), devices_with_host(1), 8);
  const Breakdown parts = breakdown(example.plan(), example.simulate().trace, 1);
  EXPECT_NEAR(to_seconds(parts.input_wait) / kMs, 2, 1e-6);
  EXPECT_NEAR(to_seconds(parts.compute) / kMs, 3, 1e-6);
}

// Storage and cores belong to the machine: four replicas read four batches from it.
TEST(InputFeed, ReplicasShareTheMachine) {
  const InputTimes times{1, 1.5, 0};
  const Example example =
      compile_on(fed_job("ddp", times, 2), fed_model(times), devices_with_host(4), 8);
  EXPECT_NEAR(to_seconds(StepEnds(example.plan(), example.simulate().trace).times().at(6)) / kMs,
              4 * 1.5, 1e-6);
}

TEST(InputFeed, OnlyTheFirstStageIsFed) {
  Job job = fed_job("1f1b", {1, 1, 1}, 2);
  job.parallelism.pipeline_parallel_degree = 2;
  job.training.micro_batch_size = 5;
  Model model = equal_blocks(2, {.flops = 100'000'000});
  model.inputs = 1000;
  const Example example = compile_on(job, model, devices_with_host(2), 2);
  EXPECT_TRUE(example.plan().find("step0/input/read@rank0"));
  EXPECT_TRUE(example.plan().find("step1/input/decode@rank0"));
  const auto copy = example.plan().find("step1/input/copy@rank0");
  ASSERT_TRUE(copy);
  EXPECT_EQ(example.plan().copy(*copy).bytes.count, 10 * 1000 * 4);
  EXPECT_FALSE(example.plan().find("step0/input/copy@rank1"));
}

TEST(InputFeed, EveryStrategyRunsWithIt) {
  for (const char* const strategy : {"ddp", "layer_model_parallel", "gpipe", "1f1b", "pipedream",
                                     "tensor_parallel", "mirrored", "parameter_server"}) {
    for (const std::int64_t prefetch : {0, 3}) {
      Job job = fed_job(strategy, {1, 1, 1}, prefetch);
      job.training.local_batch_size = 8;
      const Example example =
          compile_on(job, equal_blocks(4, {.parameters = 100}), devices_with_host(4), 3);
      EXPECT_TRUE(example.plan().find("step2/input/copy@rank0")) << strategy;
      EXPECT_GT(example.simulate().trace.makespan.ps, 0);
    }
  }
}

TEST(InputFeed, DataParallelSaysThatItDoesWithout) {
  Diagnostics diagnostics;
  compile(fed_job("data_parallel", {1, 1, 1}, 2), equal_blocks(2, {.parameters = 10}),
          devices_with_host(2), {}, diagnostics);
  EXPECT_THAT(all_messages(diagnostics), HasSubstr("W0701 /input"));
}

}  // namespace
}  // namespace twinrun
