#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/strategy/synthetic.h"

namespace twinrun {
namespace {

double flops_of(Job job, Recompute recompute) {
  job.training.recompute = recompute;
  return total_flops(compile_example(std::move(job), "gpt2", "dgx-a100:gpus=4").plan());
}

// GPT-2, a sample of 1024 tokens: 12 · h² weights a layer, scores and their sum, the head.
constexpr double kScoreFlops = 12 * 4.0 * 1024 * 1024 * 768;
constexpr double kForwardFlops =
    12 * 2.0 * 1024 * 12 * 768 * 768 + kScoreFlops + 2.0 * 1024 * 768 * 50257;

TEST(Recompute, AddsOneForwardOrTheScores) {
  for (const char* const strategy : {"single", "ddp", "gpipe", "1f1b", "pipedream"}) {
    Job job = example_job(strategy, 4);
    const double samples = job.parallelism.strategy == "ddp" ? 16 : 4;
    const double none = flops_of(job, Recompute::kNone);
    EXPECT_DOUBLE_EQ(none, 3 * kForwardFlops * samples) << strategy;
    EXPECT_DOUBLE_EQ(flops_of(job, Recompute::kFull) - none, kForwardFlops * samples) << strategy;
    EXPECT_DOUBLE_EQ(flops_of(job, Recompute::kSelective) - none, kScoreFlops * samples)
        << strategy;
  }
}

// torchgpipe's rule: of four micro-batches three are recomputed.
TEST(Recompute, TheLastMicroBatchMayKeepWhatOthersRecompute) {
  Job job = example_job("gpipe", 4);
  job.training.micro_batch_size = 1;
  const double none = flops_of(job, Recompute::kNone);
  EXPECT_DOUBLE_EQ(flops_of(job, Recompute::kExceptLast) - none, kForwardFlops * 3);
}

// GPipe keeps the input of its partition for each micro-batch, and the partition it works on.
TEST(Recompute, GpipeKeepsInputsOfPartitions) {
  Job job = pipeline_job("gpipe", 2, 8);
  job.training.recompute = Recompute::kFull;
  const Example example = compile_on(job, equal_blocks(6), plain_devices(2));
  const sim::Simulation run = example.simulate();
  for (std::size_t rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(run.memory[rank].parts[static_cast<std::size_t>(MemoryPart::kActivations)].count,
              8 * 400 + 3 * 4000);
  }
}

// Elsewhere every block is recomputed by itself, from its own input.
TEST(Recompute, OthersKeepInputsOfBlocks) {
  Job job = pipeline_job("1f1b", 2, 8);
  job.training.recompute = Recompute::kFull;
  const Example example = compile_on(job, equal_blocks(6), plain_devices(2));
  const sim::Simulation run = example.simulate();
  EXPECT_EQ(run.memory[0].parts[static_cast<std::size_t>(MemoryPart::kActivations)].count,
            2 * 3 * 400 + 4000);
}

}  // namespace
}  // namespace twinrun
