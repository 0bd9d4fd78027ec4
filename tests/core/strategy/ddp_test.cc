#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/strategy/example_jobs.h"

namespace twinrun {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::int64_t> all_reduce_elements(const Plan& plan, std::string_view step) {
  std::vector<std::int64_t> elements;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const auto op = id_at<OpId>(i);
    const std::string_view id = plan.id(op);
    if (plan.kind(op) == OpKind::kCollective && id.starts_with(step) && id.ends_with("@rank0") &&
        plan.shape(op).kind == CollectiveKind::kAllReduce) {
      elements.push_back(plan.collective(op).bytes.count / 4);
    }
  }
  return elements;
}

// formats-and-ux 4.5: the vector of a public trace of torchvision's ResNet-50.
TEST(Ddp, BucketsOfResNet50AreThoseOfPyTorch) {
  const Example example = compile_example(example_job("ddp", 32), "resnet50", "dgx1-v100", 2);
  EXPECT_THAT(all_reduce_elements(example.plan(), "step1/"),
              ElementsAre(2'049'000, 7'875'584, 6'563'840, 6'637'568, 2'431'040));
}

TEST(Ddp, FirstIterationHasOneBucket) {
  const Example example = compile_example(example_job("ddp", 32), "resnet50", "dgx1-v100", 2);
  EXPECT_THAT(all_reduce_elements(example.plan(), "step0/"), ElementsAre(25'557'032));
  EXPECT_EQ(example.compiled.warmup_steps, 1);
}

// Forward, and twice as much backward but for the input's gradient of the first layer.
TEST(Ddp, FlopsAreThreeForwardPassesOfTheGlobalBatch) {
  const Example example = compile_example(example_job("ddp", 4), "resnet50", "dgx1-v100");
  const double forward = 2.0 * 4'089'184'256;
  const double stem = 2.0 * 118'013'952;
  EXPECT_DOUBLE_EQ(total_flops(example.plan()), (3 * forward - stem) * 32);
}

TEST(Ddp, StepLiesBetweenTheLongerAndTheSumOfBoth) {
  const Example example = compile_example(example_job("ddp", 32), "resnet50", "dgx1-v100");
  const double step = to_seconds(example.simulate().trace.makespan);
  sim::SimulationOptions options;
  options.has_communication = false;
  const double t1 = to_seconds(example.simulate(options).trace.makespan);
  options = {};
  options.compute_scale = 0;
  const double t2 = to_seconds(example.simulate(options).trace.makespan);
  EXPECT_GE(step, std::max(t1, t2));
  EXPECT_LE(step, t1 + t2 + 1e-9);
}

TEST(Ddp, BatchThatDoesNotDivideNamesTheNearest) {
  Job job = example_job("ddp", 32);
  job.training.local_batch_size.reset();
  job.training.global_batch_size = 100;
  EXPECT_THAT(complaints_about(job, "resnet50", "dgx1-v100"),
              HasSubstr("a global batch of 96 or 104"));
}

}  // namespace
}  // namespace twinrun
