#include <gtest/gtest.h>

#include "tests/core/strategy/example_jobs.h"

// What lectures say about distributed training, as whole jobs. Server against ring, the bubble of a
// pipeline, DataParallel against DDP and compute against communication of networks stand beside the
// strategies they are about, in tests/core/strategy.

namespace twinrun {
namespace {

double seconds_of(const Example& example, const sim::SimulationOptions& options = {}) {
  return to_seconds(example.simulate(options).trace.makespan);
}

sim::SimulationOptions compute_only() {
  sim::SimulationOptions options;
  options.has_communication = false;
  return options;
}

sim::SimulationOptions communication_only() {
  sim::SimulationOptions options;
  options.compute_scale = 0;
  return options;
}

Job ddp_in_views(std::int64_t batch) {
  Job job = example_job("ddp", batch);
  job.ddp.gradient_as_bucket_view = true;  // no copies into buckets
  return job;
}

TEST(Textbook, NDevicesTakeTheTimeOfOneWhenCommunicationIsFree) {
  const double one =
      seconds_of(compile_example(example_job("single", 32), "resnet50", "dgx1-v100"));
  for (const char* const ranks : {"2", "5", "8"}) {
    Job job = ddp_in_views(32);
    job.mapping.ranks = ranks;
    EXPECT_DOUBLE_EQ(seconds_of(compile_example(job, "resnet50", "dgx1-v100"), compute_only()),
                     one);
  }
}

TEST(Textbook, WithoutOverlapAStepIsTheSumOfComputeAndCommunication) {
  Job job = ddp_in_views(16);
  job.parallelism.overlap = false;
  const Example example = compile_example(job, "vgg16", "dgx1-v100");
  const double t1 = seconds_of(example, compute_only());
  const double t2 = seconds_of(example, communication_only());
  EXPECT_NEAR(seconds_of(example), t1 + t2, 1e-9);
}

// What is left over of the shorter one: the last bucket cannot begin before backward has ended, nor
// the first before it has begun.
TEST(Textbook, WithOverlapAStepIsTheLongerOfBothButForTheEnds) {
  const Example large = compile_example(ddp_in_views(64), "resnet50", "dgx1-v100");
  const double t1 = seconds_of(large, compute_only());
  EXPECT_LT(seconds_of(large), 1.01 * t1);
  const Example small = compile_example(ddp_in_views(1), "vgg16", "p3.2xlarge:nodes=4,nic=1Gb/s");
  const double t2 = seconds_of(small, communication_only());
  EXPECT_GT(t2, seconds_of(small, compute_only()));
  EXPECT_LT(seconds_of(small), 1.01 * t2);
}

// Samples a second of 8 partitions with 32 micro-batches over those of one device that takes the
// batch at once and recomputes nothing (arXiv:1811.06965, figure 3; torchgpipe's tables have it
// so).
double gpipe_speedup(const std::string& model, std::int64_t stages) {
  Job job = example_job("gpipe", 32 * 8);
  job.training.micro_batch_size = 8;
  job.training.recompute = Recompute::kFull;
  job.mapping.ranks = std::to_string(stages);
  const Job alone = example_job("single", 32 * 8);
  return seconds_of(compile_example(alone, model, "dgx1-v100")) /
         seconds_of(compile_example(job, model, "dgx1-v100"));
}

TEST(Textbook, AmoebaNetGainsNearlyInProportionToPartitionsAndMoreThanResNet) {
  const double two = gpipe_speedup("amoebanet-d-18-256", 2);
  const double eight = gpipe_speedup("amoebanet-d-18-256", 8);
  EXPECT_GT(eight / two, 2.8);  // of 4: the paper has 2.9, a bubble of 18 % allows 3.4
  EXPECT_LT(eight / two, 3.4);
  EXPECT_GT(eight, gpipe_speedup("resnet101", 8));
}

}  // namespace
}  // namespace twinrun
