#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/trace/steps.h"
#include "tests/core/strategy/example_jobs.h"

namespace twinrun {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::int64_t> packs_of_rank0(const Plan& plan) {
  std::vector<std::int64_t> elements;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const auto op = id_at<OpId>(i);
    if (plan.kind(op) == OpKind::kCollective && plan.id(op).ends_with("@rank0")) {
      elements.push_back(plan.collective(op).bytes.count / 4);
    }
  }
  return elements;
}

TEST(Mirrored, AllGradientsAreOnePack) {
  const Example example = compile_example(example_job("mirrored", 32), "resnet50", "dgx1-v100");
  EXPECT_THAT(packs_of_rank0(example.plan()), ElementsAre(25'557'032));
}

// AlexNet's fc8 with its bias, fc7, fc6, and the convolutions: each reaches 1 MiB.
TEST(Mirrored, ASizeMakesSeveralPacksFromTheLastGradient) {
  Job job = example_job("MirroredStrategy", 32);
  job.ddp.bucket_cap_mb = 10;
  job.ddp.bucket_cap_given = true;
  const Example example = compile_example(job, "alexnet", "dgx1-v100");
  EXPECT_THAT(packs_of_rank0(example.plan()),
              ElementsAre(4'097'000, 16'781'312, 37'752'832, 2'469'696));
}

// One pack cannot be reduced before backward ends: the step is the sum of both.
TEST(Mirrored, OnePackIsExposed) {
  const Example example = compile_example(example_job("mirrored", 32), "resnet50", "dgx1-v100");
  const double step = to_seconds(example.simulate().trace.makespan);
  sim::SimulationOptions options;
  options.has_communication = false;
  const double compute = to_seconds(example.simulate(options).trace.makespan);
  options = {};
  options.compute_scale = 0;
  const double communication = to_seconds(example.simulate(options).trace.makespan);
  EXPECT_NEAR(step, compute + communication, 1e-9);
}

TEST(Mirrored, SeveralMachinesNameTheStrategyForThem) {
  EXPECT_THAT(complaints_about(example_job("mirrored", 4), "resnet50", "dgx1-v100:nodes=2"),
              HasSubstr("\"strategy\": \"multi_worker_mirrored\""));
}

TEST(MultiWorkerMirrored, TheChiefsDutiesDelayEverybody) {
  Job job = example_job("multi_worker_mirrored", 4);
  const Example plain = compile_example(job, "resnet50", "p3.2xlarge:nodes=4", 3);
  job.host.checkpoint = microseconds(50'000);
  const Example chief = compile_example(job, "resnet50", "p3.2xlarge:nodes=4", 3);
  // After the first two updates everybody waits for it; after the last it is the end of the run.
  EXPECT_NEAR(
      to_seconds(chief.simulate().trace.makespan) - to_seconds(plain.simulate().trace.makespan),
      3 * 0.05, 1e-9);
}

TEST(MultiWorkerMirrored, PlansOfManyShapesAreValid) {
  for (const std::string topology :
       {"dgx1-v100", "dgx1-v100:nodes=2", "p3.2xlarge:nodes=3", "cpu:devices=2"}) {
    for (const std::int64_t steps : {1, 2}) {
      Job job = example_job("multi_worker_mirrored", 4);
      job.host.checkpoint = microseconds(10);
      job.training.gradient_accumulation = 2;
      SCOPED_TRACE(topology);
      EXPECT_GT(compile_example(job, "alexnet", topology, steps).simulate().trace.makespan, Time{});
    }
  }
}

}  // namespace
}  // namespace twinrun
