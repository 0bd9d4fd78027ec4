#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/conformance/trained_runs.h"
#include "tests/conformance/training_cases.h"

// However training is distributed, it ends with the weights of one device that saw the same
// batches: a missing dependency, a wrong slice or a forgotten contribution shows as other numbers.

namespace twinrun {
namespace {

constexpr std::int64_t kSteps = 20;

std::string name_of_case(const testing::TestParamInfo<TrainingCase>& info) {
  return info.param.name;
}

const exec::Execution& one_device(bool uses_integers) {
  static const exec::Execution integers =
      train(batch_job("single"), kTrainedModel, cpus(1), kSteps, true).execution;
  static const exec::Execution reals =
      train(batch_job("single"), kTrainedModel, cpus(1), kSteps, false).execution;
  return uses_integers ? integers : reals;
}

class Training : public testing::TestWithParam<TrainingCase> {};

bool is_too_close(const TrainingCase& one) { return one.shares_host && trains_in_processes; }

TEST_P(Training, EndsWithTheWeightsOfOneDeviceBitForBitOnIntegers) {
  if (is_too_close(GetParam())) {
    GTEST_SKIP() << "copies to the memory of another process";
  }
  const TrainedRun run = train(GetParam().job, kTrainedModel, GetParam().topology, kSteps, true);
  EXPECT_EQ(run.execution.weights, one_device(true).weights);
  EXPECT_EQ(run.execution.losses, one_device(true).losses);
  EXPECT_EQ(run.execution.replica_disagreement, 0);
}

TEST_P(Training, EndsWithTheWeightsOfOneDeviceWithinRounding) {
  if (is_too_close(GetParam())) {
    GTEST_SKIP() << "copies to the memory of another process";
  }
  const TrainedRun run = train(GetParam().job, kTrainedModel, GetParam().topology, kSteps, false);
  const exec::Execution& one = one_device(false);
  ASSERT_EQ(run.execution.weights.size(), one.weights.size());
  EXPECT_LT(largest_relative_difference(run.execution.weights, one.weights), 1e-5);
  ASSERT_EQ(run.execution.losses.size(), one.losses.size());
  for (std::size_t i = 0; i < one.losses.size(); ++i) {
    EXPECT_NEAR(run.execution.losses[i], one.losses[i], 1e-5 * one.losses[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(Strategies,
                         Training,
                         testing::ValuesIn(all_training_cases()),
                         name_of_case);

// Workers that do not wait for each other see weights of different ages; they learn all the same.
TEST(AsynchronousServers, Learn) {
  for (const ServerMode mode : {ServerMode::kAsync, ServerMode::kBounded}) {
    for (const ServerSite site : {ServerSite::kGpu0, ServerSite::kCpu}) {
      Job job = batch_job("parameter_server");
      job.training.learning_rate = 0.2;
      job.server.mode = mode;
      job.server.placement = site;
      job.server.staleness = 1;
      const auto run = train(job, "mlp-12-32-4", gpus(4), 2 * kSteps, false);
      EXPECT_LT(run.execution.losses.back(), 0.6 * run.execution.losses.front());
    }
  }
}

std::string refusal_of(const Job& job, const std::string& topology) {
  const CompiledJob compiled = compile_for_execution(job, kTrainedModel, topology, 1);
  try {
    exec::find_backend("cpu")->execute(compiled.plan, {});
  } catch (const CannotRun& error) {
    return error.what();
  }
  return "";
}

// Better not at all than wrong.
TEST(WhatCannotRunYet, IsRefusedWithTheOp) {
  using testing::HasSubstr;
  Job job = batch_job("1f1b");  // cut inside of a pair of divided layers
  stages(2, 6)(job);
  job.parallelism.tensor_parallel_degree = 2;
  job.parallelism.balance = {1, 4};
  EXPECT_THAT(refusal_of(job, gpus(4)), HasSubstr("send"));
}

TEST(OneDevice, LearnsSomething) {
  Job job = batch_job("single");
  job.training.learning_rate = 0.5;
  const exec::Execution one = train(job, "mlp-12-32-4", cpus(1), kSteps, false).execution;
  EXPECT_LT(one.losses.back(), 0.5 * one.losses.front());
}

TEST(OneDevice, IntegersStayExact) {
  const exec::Execution& one = one_device(true);
  EXPECT_THAT(one.weights, testing::Each(testing::AllOf(testing::Ge(-2), testing::Le(2))));
  EXPECT_TRUE(std::any_of(one.weights.begin(), one.weights.end(), [](float w) { return w != 0; }));
}

}  // namespace
}  // namespace twinrun
