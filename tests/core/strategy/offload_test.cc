#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/strategy/synthetic.h"

namespace twinrun {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kMillisecond = 1'000'000'000;  // ps
constexpr std::int64_t kBlocks = 4;

// Blocks of 1 ms forward and 2 ms backward that keep so many bytes, on GPUs with 1 GB/s to the
// host.
Example offloaded(Offload offload,
                  std::int64_t saved_bytes,
                  std::int64_t weight_bytes,
                  std::int64_t steps = 1,
                  const std::string& strategy = "single") {
  Job job = example_job(strategy, 1);
  job.training.offload = offload;
  return compile_on(job,
                    equal_blocks(kBlocks, {.flops = 1'000'000'000,
                                           .parameters = weight_bytes / 4,
                                           .saved = saved_bytes / 4,
                                           .width = 0}),
                    devices_with_host(strategy == "single" ? 1 : 2), steps);
}

std::int64_t copied_bytes(const Plan& plan, std::string_view word) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const auto op = id_at<OpId>(i);
    const bool is_meant = plan.id(op).find(word) != std::string_view::npos;
    sum += plan.kind(op) == OpKind::kCopy && is_meant ? plan.copy(op).bytes.count : 0;
  }
  return sum;
}

std::int64_t part_at_peak(const sim::Simulation& run, MemoryPart part) {
  return run.memory[0].parts[static_cast<std::size_t>(part)].count;
}

TEST(OffloadActivations, AllBlocksButTheLastGoOutAndComeBack) {
  const Example example = offloaded(Offload::kActivations, 1000, 0);
  EXPECT_EQ(copied_bytes(example.plan(), "/offload/out/"), (kBlocks - 1) * 1000);
  EXPECT_EQ(copied_bytes(example.plan(), "/offload/in/"), (kBlocks - 1) * 1000);
}

// Half a millisecond a copy hides behind blocks of one and two.
TEST(OffloadActivations, FastCopiesCostNothing) {
  const Example example = offloaded(Offload::kActivations, 500'000, 0);
  EXPECT_EQ(example.simulate().trace.makespan.ps, kBlocks * 3 * kMillisecond);
}

// Two blocks are there at most: the one that computes and the one that goes or comes.
TEST(OffloadActivations, TwoBlocksAreOnTheDevice) {
  const Example with = offloaded(Offload::kActivations, 500'000, 0);
  const Example without = offloaded(Offload::kNone, 500'000, 0);
  EXPECT_EQ(part_at_peak(with.simulate(), MemoryPart::kActivations), 2 * 500'000);
  EXPECT_EQ(part_at_peak(without.simulate(), MemoryPart::kActivations), kBlocks * 500'000);
}

// Copies of 3 ms: out at 1 to 4, 4 to 7, 7 to 10; in from 10 on, each 3 ms, the two of them in both
// directions of the link; block 2 goes back at 13 to 15, block 1 at 16 to 18, block 0 at 19 to 21.
TEST(OffloadActivations, SlowCopiesAreWaitedFor) {
  const Example example = offloaded(Offload::kActivations, 3'000'000, 0);
  EXPECT_EQ(example.simulate().trace.makespan.ps, 21 * kMillisecond);
}

// Weights come in for each pass but one: the last block is still there when backward begins.
TEST(OffloadWeights, BlocksComeInForEachPass) {
  const Example example = offloaded(Offload::kWeights, 0, 4000);
  EXPECT_EQ(copied_bytes(example.plan(), "/offload/in/"), (2 * kBlocks - 1) * 4000);
  EXPECT_EQ(copied_bytes(example.plan(), "/offload/out/"), kBlocks * 4000);
}

// 0.5 ms for the weights of the first block and for the gradients of the last pass; the CPU reads
// gradient and weight and writes the weight, 12 bytes each, at 85 % of 1 GB/s.
TEST(OffloadWeights, CpuUpdatesWithItsMemoryBandwidth) {
  const std::int64_t bytes = 500'000;
  const Example example = offloaded(Offload::kWeights, 0, bytes);
  const double update_ms = static_cast<double>(kBlocks * bytes) / 4 * 12 / (0.85 * 1e9) * 1e3;
  EXPECT_NEAR(static_cast<double>(example.simulate().trace.makespan.ps) / kMillisecond,
              0.5 + kBlocks * 3 + 0.5 + update_ms, 1e-6);
}

TEST(OffloadWeights, TwoBlocksAreOnTheDevice) {
  const sim::Simulation run = offloaded(Offload::kWeights, 0, 500'000).simulate();
  EXPECT_EQ(part_at_peak(run, MemoryPart::kParameters), 2 * 500'000);
  EXPECT_LE(part_at_peak(run, MemoryPart::kGradients), 2 * 500'000);
  EXPECT_EQ(part_at_peak(run, MemoryPart::kOptimizer), 0);
}

// The next step starts with the weights of this one.
TEST(OffloadWeights, NextStepWaitsForTheUpdate) {
  const Example example = offloaded(Offload::kWeights, 0, 500'000, 2);
  const sim::Simulation run = example.simulate();
  const auto update = example.plan().find("step0/update@rank0");
  const auto in = example.plan().find("step1/offload/in/forward/block0@rank0");
  ASSERT_TRUE(update && in);
  EXPECT_GE(run.trace.ops[index_of(*in)].start, run.trace.ops[index_of(*update)].end);
}

TEST(OffloadWeights, ReplicasCopyTheirSumsOut) {
  const Example example = offloaded(Offload::kWeights, 0, 4000, 1, "ddp");
  EXPECT_EQ(copied_bytes(example.plan(), "/offload/out/gradients@rank1"), kBlocks * 4000);
}

TEST(Offload, EveryStrategyAndRecomputeRunsWithIt) {
  for (const char* const strategy :
       {"ddp", "layer_model_parallel", "gpipe", "1f1b", "interleaved_1f1b", "tensor_parallel"}) {
    for (const Offload offload : {Offload::kActivations, Offload::kWeights}) {
      for (const Recompute recompute :
           {Recompute::kNone, Recompute::kSelective, Recompute::kFull}) {
        Job job = example_job(strategy, 8);
        job.training.offload = offload;
        job.training.recompute = recompute;
        job.parallelism.overlap = recompute != Recompute::kSelective;
        const Example example = compile_example(job, "gpt2", "dgx-a100:gpus=4", 2);
        EXPECT_GT(copied_bytes(example.plan(), "/offload/out/"), 0) << strategy;
        EXPECT_GT(example.simulate().trace.makespan.ps, 0);
      }
    }
  }
}

// What is taken is given back: memory at the end of a step is that at its beginning.
TEST(Offload, MemoryIsGivenBack) {
  for (const Offload offload : {Offload::kNone, Offload::kActivations, Offload::kWeights}) {
    for (const Recompute recompute : {Recompute::kNone, Recompute::kSelective, Recompute::kFull}) {
      for (const char* const strategy : {"single", "gpipe", "1f1b", "interleaved_1f1b"}) {
        Job job = example_job(strategy, 8);
        job.training.offload = offload;
        job.training.recompute = recompute;
        const Example example = compile_example(job, "gpt2", "dgx-a100:gpus=2", 2);
        std::array<std::int64_t, kMemoryPartNames.size()> sums{};
        for (std::size_t i = 0; i < example.plan().size(); ++i) {
          const auto op = id_at<OpId>(i);
          for (const MemoryEffect& effect : example.plan().memory_effects(op)) {
            const bool is_gpu = example.plan().device_name(example.plan().device(op)).find("gpu") !=
                                std::string_view::npos;
            sums[static_cast<std::size_t>(effect.part())] += is_gpu ? effect.bytes().count : 0;
          }
        }
        EXPECT_EQ(sums[static_cast<std::size_t>(MemoryPart::kActivations)], 0) << strategy;
        EXPECT_EQ(sums[static_cast<std::size_t>(MemoryPart::kWorkspace)], 0) << strategy;
        if (offload == Offload::kWeights) {
          EXPECT_EQ(sums[static_cast<std::size_t>(MemoryPart::kGradients)], 0) << strategy;
        }
      }
    }
  }
}

TEST(Offload, NeedsAHost) {
  Job job = example_job("single", 1);
  job.training.offload = Offload::kActivations;
  Diagnostics diagnostics;
  compile(job, equal_blocks(2), plain_devices(1), {}, diagnostics);
  EXPECT_THAT(all_messages(diagnostics), HasSubstr("E0910 /training/offload"));
}

TEST(Offload, WeightsThatAreElsewhereCannotBe) {
  Job job = example_job("ddp", 1);
  job.training.offload = Offload::kWeights;
  job.parallelism.zero_stage = 3;
  EXPECT_THAT(complaints_about(job, "gpt2", "dgx-a100"),
              HasSubstr("offloaded weights and sharded weights exclude each other"));
}

}  // namespace
}  // namespace twinrun
