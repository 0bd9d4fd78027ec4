#include "core/io/job_aliases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/io/job_keys.h"
#include "tests/core/io/read_job_text.h"

namespace twinrun {
namespace {

using testing::HasSubstr;

TEST(JobAliases, EveryAliasLeadsToAKey) {
  for (const JobAlias& alias : job_aliases()) {
    EXPECT_TRUE(alias.key.empty() || find_job_key(alias.block, alias.key) != nullptr) << alias.name;
    const bool hides_a_key =
        alias.where != JobAlias::Where::kTop && find_job_key(alias.block, alias.name) != nullptr;
    EXPECT_FALSE(hides_a_key) << alias.name;
  }
}

TEST(JobAliases, ShortNames) {
  const JobReading read = read_job_text(
      R"({"model": "gpt2", "topology": "dgx1-v100",
          "parallelism": {"dp": 2, "fsdp": -1, "zero": 1, "tp": 4, "sp": true, "pp": 8,
                          "schedule": "Interleaved1F1B", "vpp": 3, "cp": 1},
          "training": {"mbs": 5, "gbs": 80, "seq": 128, "ac": "full"}})");
  EXPECT_EQ(read.codes(), "");
  const Parallelism& p = read.job().parallelism;
  EXPECT_EQ(p.data_parallel_replicate_degree, 2);
  EXPECT_EQ(p.data_parallel_shard_degree, -1);
  EXPECT_EQ(p.zero_stage, 1);
  EXPECT_EQ(p.tensor_parallel_degree, 4);
  EXPECT_TRUE(p.sequence_parallel);
  EXPECT_EQ(p.pipeline_parallel_degree, 8);
  EXPECT_EQ(p.strategy, "interleaved_1f1b");
  EXPECT_EQ(p.virtual_stages, 3);
  EXPECT_EQ(read.job().training.micro_batch_size, 5);
  EXPECT_EQ(read.job().training.global_batch_size, 80);
  EXPECT_EQ(read.job().training.seq_length, 128);
  EXPECT_EQ(read.job().training.recompute, Recompute::kFull);
}

TEST(JobAliases, MegatronsArgumentsWithDashesAtTheTop) {
  const JobReading read = read_job_text(
      R"({"model": "gpt2", "topology": "dgx1-v100", "--tensor-model-parallel-size": 4,
          "pipeline_model_parallel_size": 2, "micro-batch-size": 3, "global-batch-size": 12,
          "seq-length": 256, "sequence-parallel": true, "use-distributed-optimizer": true,
          "num-virtual-stages-per-pipeline-rank": 2, "recompute-granularity": "selective",
          "bf16": true, "fp16": false, "overlap-grad-reduce": false})");
  EXPECT_EQ(read.codes(), "");
  EXPECT_EQ(read.job().parallelism.tensor_parallel_degree, 4);
  EXPECT_EQ(read.job().parallelism.pipeline_parallel_degree, 2);
  EXPECT_EQ(read.job().parallelism.virtual_stages, 2);
  EXPECT_EQ(read.job().parallelism.zero_stage, 1);
  EXPECT_TRUE(read.job().parallelism.sequence_parallel);
  EXPECT_FALSE(read.job().parallelism.overlap);
  EXPECT_EQ(read.job().training.micro_batch_size, 3);
  EXPECT_EQ(read.job().training.global_batch_size, 12);
  EXPECT_EQ(read.job().training.seq_length, 256);
  EXPECT_EQ(read.job().training.recompute, Recompute::kSelective);
  EXPECT_EQ(read.job().training.dtype, Dtype::kBf16);
}

TEST(JobAliases, OurOwnKeysMayHaveDashes) {
  const JobReading read = read_job_text(job_with(R"("ddp": {"bucket-cap-mb": 7})"));
  EXPECT_EQ(read.codes(), "");
  EXPECT_EQ(read.job().ddp.bucket_cap_mb, 7);
}

TEST(JobAliases, ABlockOfDeepSpeedSaysWhatIsNotRead) {
  const JobReading read = read_job_text(job_with(
      R"("train_batch_size": 64, "train_micro_batch_size_per_gpu": 4,
         "gradient_accumulation_steps": 2, "fp16": {"enabled": true, "loss_scale": 0},
         "zero_optimization": {"stage": 2, "overlap_comm": true})"));
  EXPECT_EQ(read.job().training.global_batch_size, 64);
  EXPECT_EQ(read.job().training.micro_batch_size, 4);
  EXPECT_EQ(read.job().training.gradient_accumulation, 2);
  EXPECT_EQ(read.job().training.dtype, Dtype::kFp16);
  EXPECT_EQ(read.job().parallelism.zero_stage, 2);
  ASSERT_EQ(read.codes(), "W0702 W0702");
  EXPECT_EQ(read.diagnostics.all()[0].place.pointer, "/fp16/loss_scale");
  EXPECT_EQ(read.diagnostics.all()[1].place.pointer, "/zero_optimization/overlap_comm");
}

TEST(JobAliases, TorchtitansNames) {
  const JobReading read = read_job_text(job_with(
      R"("parallelism": {"pipeline_parallel_schedule": "1F1B", "enable_sequence_parallel": true},
         "activation_checkpoint": {"mode": "full"})"));
  EXPECT_EQ(read.codes(), "");
  EXPECT_EQ(read.job().parallelism.strategy, "1f1b");
  EXPECT_TRUE(read.job().parallelism.sequence_parallel);
  EXPECT_EQ(read.job().training.recompute, Recompute::kFull);
}

TEST(JobAliases, TwoNamesWithTwoValuesAreAContradictionThatNamesBoth) {
  const JobReading read =
      read_job_text(job_with(R"("parallelism": {"tp": 4, "tensor_parallel_degree": 8})"));
  ASSERT_EQ(read.codes(), "E0208");
  const Diagnostic& one = read.diagnostics.all().front();
  EXPECT_THAT(one.message, HasSubstr("\"parallelism.tp\" is 4"));
  EXPECT_THAT(one.message, HasSubstr("\"parallelism.tensor_parallel_degree\" is 8"));
  EXPECT_EQ(one.place.pointer, "/parallelism/tp");
  const JobReading aliases =
      read_job_text(job_with(R"("train_batch_size": 4, "training": {"gbs": 8})"));
  ASSERT_EQ(aliases.codes(), "E0208");
  EXPECT_THAT(aliases.diagnostics.all().front().message, HasSubstr("\"train_batch_size\" is 4"));
  EXPECT_EQ(read_job_text(job_with(R"("fp16": true, "training": {"dtype": "bf16"})")).codes(),
            "E0208");
}

TEST(JobAliases, TwoNamesWithOneValueAreFine) {
  EXPECT_EQ(read_job_text(job_with(R"("parallelism": {"tp": 4, "tensor_parallel_degree": 4,
                                      "strategy": "1f1b", "schedule": "1F1B"})"))
                .codes(),
            "");
}

TEST(JobAliases, ComplaintsPointAtTheNameThatWasWritten) {
  const JobReading read = read_job_text(job_with(R"("micro-batch-size": 0)"));
  ASSERT_EQ(read.codes(), "E0203");
  EXPECT_EQ(read.diagnostics.all().front().place.pointer, "/micro-batch-size");
  const JobReading fine = read_job_text(job_with(R"("micro-batch-size": 2)"));
  // So do those of whoever reads the job later.
  EXPECT_EQ(place_in(fine.job(), "/training/micro_batch_size").pointer, "/micro-batch-size");
  EXPECT_EQ(place_in(fine.job(), "/training/dtype").pointer, "/training/dtype");
}

TEST(JobAliases, AreNotKnownOutsideTheirBlock) {
  EXPECT_EQ(read_job_text(job_with(R"("tp": 4)")).codes(), "E0205");
  EXPECT_EQ(read_job_text(job_with(R"("training": {"tp": 4})")).codes(), "E0205");
}

}  // namespace
}  // namespace twinrun
