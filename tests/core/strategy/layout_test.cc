#include "core/strategy/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/strategy/example_jobs.h"

// Jobs that cannot be: each complaint names the field, the reason and the nearest values that would
// do. What a strategy refuses stands beside its own tests.

namespace twinrun {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ImpossibleJob, BatchThatReplicasCannotDivide) {
  Job job = example_job("ddp", 0);
  job.training.local_batch_size.reset();
  job.training.global_batch_size = 100;
  EXPECT_THAT(complaints_about(job, "resnet50", "dgx1-v100"),
              AllOf(HasSubstr("E0904 /training/global_batch_size"), HasSubstr("100"),
                    HasSubstr("96"), HasSubstr("104")));  // the multiples of 8 around it
}

TEST(ImpossibleJob, LocalAndGlobalBatchAndDegreeThatContradictEachOther) {
  for (const std::int64_t global : {100, 128}) {  // whether the replicas divide it or not
    Job job = example_job("ddp", 32);
    job.training.global_batch_size = global;
    job.parallelism.data_parallel_replicate_degree = 8;
    EXPECT_THAT(complaints_about(job, "resnet50", "dgx1-v100"),
                AllOf(HasSubstr("E0903 /training/global_batch_size"), HasSubstr("256")));
  }
}

TEST(ImpossibleJob, DegreesThatDoNotMultiplyToTheDevices) {
  Job job = example_job("ddp", 8);
  job.parallelism.tensor_parallel_degree = 3;
  EXPECT_THAT(complaints_about(job, "resnet50", "dgx1-v100"),
              AllOf(HasSubstr("E0902 /parallelism/tensor_parallel_degree"), HasSubstr("8 devices"),
                    HasSubstr("2 or 4")));
  job.parallelism.tensor_parallel_degree = 4;
  job.parallelism.pipeline_parallel_degree = 4;
  EXPECT_THAT(complaints_about(job, "gpt2", "dgx1-v100"),
              AllOf(HasSubstr("E0902"), HasSubstr("needs 16 devices"), HasSubstr("has 8")));
}

TEST(ImpossibleJob, BalanceThatDoesNotAddUp) {
  Job job = example_job("gpipe", 8);
  job.parallelism.pipeline_parallel_degree = 2;
  job.parallelism.balance = {7, 8};
  const auto blocks = catalogue_model("alexnet", 0)->blocks.size();
  EXPECT_THAT(complaints_about(job, "alexnet", "dgx1-v100"),
              AllOf(HasSubstr("E0907 /parallelism/balance"), HasSubstr("adds up to 15"),
                    HasSubstr("add up to " + std::to_string(blocks))));
}

// Three mistakes that have nothing to do with each other are told at once.
TEST(ImpossibleJob, AllIsToldAtOnce) {
  Job job = example_job("1f1b", 8);
  job.parallelism.tensor_parallel_degree = 5;  // of 12 heads, and of 8 devices
  job.parallelism.pipeline_parallel_degree = 40;
  job.mapping.order = "pp-tp";
  EXPECT_THAT(complaints_about(job, "gpt2", "dgx1-v100"),
              AllOf(HasSubstr("E0902"), HasSubstr("E0905 /parallelism/pipeline_parallel_degree"),
                    HasSubstr("E0906 /parallelism/tensor_parallel_degree"),
                    HasSubstr("E0908 /mapping/order")));
}

// The degree that is left over is not known when the others are wrong.
TEST(ImpossibleJob, NothingIsSaidAboutWhatIsNotKnown) {
  Job job = example_job("gpipe", 8);
  job.parallelism.tensor_parallel_degree = 3;
  job.parallelism.balance = {4, 4};
  EXPECT_THAT(complaints_about(job, "gpt2", "dgx1-v100"),
              AllOf(HasSubstr("E0902"), Not(HasSubstr("E0907"))));
}

TEST(ImpossibleJob, InterleavedMicroBatchesComeInGroups) {
  Job job = example_job("interleaved_1f1b", 6);
  job.training.micro_batch_size = 1;
  job.parallelism.pipeline_parallel_degree = 4;
  job.parallelism.virtual_stages = 2;
  EXPECT_THAT(complaints_about(job, "gpt2", "dgx1-v100"),
              AllOf(HasSubstr("E0904 /training/micro_batch_size"), HasSubstr("4 or 8")));
}

}  // namespace
}  // namespace twinrun
