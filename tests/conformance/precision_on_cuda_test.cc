#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "exec/cuda/execute_on_cuda.h"
#include "tests/conformance/trained_runs.h"
#include "tests/conformance/training_cases.h"
#include "tests/exec/cuda/substitute_gpus.h"

// Trainings on GPUs that are not those of training_test.cc: operands of two bytes.

namespace twinrun {
namespace {

constexpr std::int64_t kSteps = 10;
constexpr int kDevices = 4;

exec::Execution on_gpus(const Plan& plan, const exec::ExecuteOptions& options) {
  return exec::execute_on_gpus(plan, options, {exec::substitute_gpus(kDevices)});
}

exec::Execution trained(TrainingRunner runner, const Job& job, const std::string& topology) {
  training_runner = runner;
  trains_in_short_types = true;
  return train(job, kTrainedModel, topology, kSteps, false).execution;
}

// Half a unit in the last place of an operand; some of it adds up over layers and steps, some
// cancels. Not 0: then the operands would not have been rounded at all.
TEST(Precision, OfOperandsIsThatOfTheWeights) {
  struct Rounding {
    Dtype dtype;
    double half_unit;
  };
  const TrainingRunner cpu = exec::find_backend("cpu")->execute;
  const exec::Execution exact = trained(cpu, batch_job("single"), cpus(1));
  for (const Rounding& one : {Rounding{Dtype::kTf32, 0x1p-11}, Rounding{Dtype::kFp16, 0x1p-11},
                              Rounding{Dtype::kBf16, 0x1p-8}}) {
    for (const std::string strategy : {"single", "ddp"}) {
      Job job = batch_job(strategy);
      job.training.dtype = one.dtype;
      const exec::Execution run = trained(on_gpus, job, gpus(strategy == "single" ? 1 : 4));
      ASSERT_EQ(run.weights.size(), exact.weights.size());
      const double difference = largest_relative_difference(run.weights, exact.weights);
      EXPECT_GT(difference, one.half_unit / 100) << name_of(one.dtype) << " " << strategy;
      EXPECT_LT(difference, one.half_unit * 10) << name_of(one.dtype) << " " << strategy;
    }
  }
}

}  // namespace
}  // namespace twinrun
