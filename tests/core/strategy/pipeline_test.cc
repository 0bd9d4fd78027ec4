#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/plan/plan_builder.h"
#include "core/strategy/pipedream.h"
#include "core/strategy/strategies.h"
#include "core/trace/breakdown.h"
#include "core/trace/staleness.h"
#include "core/trace/steps.h"
#include "tests/core/strategy/synthetic.h"

namespace twinrun {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kForward = 1'000'000;  // ps of a block
constexpr std::int64_t kPass = 3 * kForward;  // forward and backward

// Huang et al., arXiv:1811.06965: K stages and M micro-batches idle for (K − 1)/(M + K − 1).
TEST(Gpipe, BubbleIsTheShareOfThePaper) {
  for (const auto& [stages, micro] : {std::pair{2, 3}, {4, 4}, {4, 16}, {8, 32}}) {
    const Example example =
        compile_on(pipeline_job("gpipe", stages, micro), equal_blocks(8), plain_devices(stages));
    const std::int64_t stage_pass = kPass * 8 / stages;
    EXPECT_EQ(free_makespan_ps(example), stage_pass * (micro + stages - 1));
    sim::SimulationOptions options;
    options.has_communication = false;
    const Breakdown parts = breakdown(example.plan(), example.simulate(options).trace);
    EXPECT_DOUBLE_EQ(static_cast<double>(parts.bubble.ps) / static_cast<double>(parts.step.ps),
                     static_cast<double>(stages - 1) / static_cast<double>(micro + stages - 1));
  }
}

TEST(Gpipe, RecomputeDoesNotWaitForTheGradient) {
  Job job = pipeline_job("gpipe", 4, 4);
  job.training.recompute = Recompute::kFull;
  const Example example = compile_on(job, equal_blocks(4), plain_devices(4));
  // The last stage: all forward, then 3 recomputed and backward each; the other stages recompute
  // while they wait for the first gradient. After it, 4 backward and 3 recomputed are left for
  // stage 0, and the gradient passed 3 stages.
  const std::int64_t first_gradient = kForward * (3 + 4 + 1 + 2);
  EXPECT_EQ(free_makespan_ps(example), first_gradient + 3 * 2 * kForward + 3 * kPass);
}

TEST(OneFOneB, StepIsThatOfGpipe) {
  for (const auto& [stages, micro] : {std::pair{2, 3}, {4, 4}, {4, 16}, {8, 5}}) {
    const Example example =
        compile_on(pipeline_job("1f1b", stages, micro), equal_blocks(8), plain_devices(stages));
    EXPECT_EQ(free_makespan_ps(example), kPass * 8 / stages * (micro + stages - 1));
  }
}

std::int64_t peak_activations(const Example& example, std::size_t rank) {
  sim::SimulationOptions options;
  options.has_communication = false;
  const sim::Simulation run = example.simulate(options);
  return run.memory[rank].parts[static_cast<std::size_t>(MemoryPart::kActivations)].count;
}

// Narayanan et al., arXiv:2104.04473, section 2.2.1: GPipe keeps M micro-batches, 1F1B no more than
// there are stages behind.
TEST(OneFOneB, StageKeepsNoMoreMicroBatchesThanStagesBehind) {
  for (const std::int64_t micro : {2, 4, 12}) {
    const Example flushed =
        compile_on(pipeline_job("gpipe", 4, micro), equal_blocks(4), plain_devices(4));
    const Example in_turn =
        compile_on(pipeline_job("1f1b", 4, micro), equal_blocks(4), plain_devices(4));
    for (std::int64_t stage = 0; stage < 4; ++stage) {
      const auto rank = static_cast<std::size_t>(stage);
      EXPECT_EQ(peak_activations(flushed, rank), micro * 4000);
      EXPECT_EQ(peak_activations(in_turn, rank), std::min(micro, 4 - stage) * 4000);
    }
  }
}

// The same paper, section 2.2.2: with v chunks a stage the bubble is (K − 1)/(v · M) of the work.
TEST(Interleaved, BubbleShrinksWithTheChunks) {
  for (const std::int64_t chunks : {2, 4}) {
    for (const std::int64_t micro : {4, 8, 16}) {
      Job job = pipeline_job("interleaved_1f1b", 4, micro);
      job.parallelism.virtual_stages = chunks;
      const Example example = compile_on(job, equal_blocks(16), plain_devices(4));
      const std::int64_t work = micro * 4 * kPass;
      EXPECT_EQ(free_makespan_ps(example), work + 3 * 4 * kPass / chunks);
    }
  }
}

TEST(Interleaved, MicroBatchesComeInGroupsOfTheStages) {
  Diagnostics diagnostics;
  compile(pipeline_job("interleaved_1f1b", 4, 6), equal_blocks(16), plain_devices(4), {},
          diagnostics);
  EXPECT_THAT(all_messages(diagnostics), HasSubstr("4 or 8 micro-batches"));
}

TEST(LayerModelParallel, StepIsTheSumOfTheStages) {
  Job job = example_job("layer_model_parallel", 8);
  const Example example = compile_on(job, equal_blocks(6), plain_devices(3));
  EXPECT_EQ(free_makespan_ps(example), 6 * 8 * kPass);
  EXPECT_EQ(example.compiled.layout.stages, 3);
  job.training.gradient_accumulation = 4;  // still nothing overlaps
  EXPECT_EQ(free_makespan_ps(compile_on(job, equal_blocks(6), plain_devices(3))), 6 * 8 * kPass);
}

TEST(Pipeline, MessagesCarryTheBoundaryOfTheMicroBatch) {
  const Example example = compile_on(pipeline_job("1f1b", 4, 6), equal_blocks(4), plain_devices(4));
  std::int64_t sends = 0;
  for (std::size_t i = 0; i < example.plan().size(); ++i) {
    const auto op = id_at<OpId>(i);
    if (example.plan().kind(op) == OpKind::kSend) {
      ++sends;
      EXPECT_EQ(example.plan().message(op).bytes.count, 400);
    }
  }
  EXPECT_EQ(sends, 2 * 3 * 6);  // forward and backward over three boundaries
}

// arXiv:2104.04473, section 4.1: each tensor-parallel rank sends its share, and they gather it.
TEST(Pipeline, TensorRanksSendSharesOfTheBoundary) {
  Job job = pipeline_job("1f1b", 2, 2);
  job.training.dtype = Dtype::kBf16;
  job.parallelism.tensor_parallel_degree = 4;
  const Example example = compile_example(job, "gpt2", "dgx-a100");
  const Plan& plan = example.plan();
  const std::int64_t hidden_state = 1024 * 768 * 2;
  EXPECT_EQ(plan.message(*plan.find("step0/forward/send/mb0@rank1")).bytes.count, hidden_state / 4);
  EXPECT_EQ(plan.collective(*plan.find("step0/forward/recv/mb0/gather-r0s1@rank5")).bytes.count,
            hidden_state);
}

TEST(Pipeline, TrainsAsManyParametersAsTheModelHasAndOneMoreTiedTable) {
  Job job = pipeline_job("1f1b", 4, 4);
  job.training.dtype = Dtype::kBf16;
  const Example example = compile_example(job, "gpt2", "dgx-a100:gpus=4");
  std::int64_t bytes = 0;
  for (std::size_t rank = 0; rank < 4; ++rank) {
    const Plan& plan = example.plan();
    for (const MemoryEffect& effect :
         plan.memory_effects(*plan.find(fmt::format("setup@rank{}", rank)))) {
      bytes += effect.part() == MemoryPart::kParameters ? effect.bytes().count : 0;
    }
  }
  const std::int64_t table = 50257 * 768;
  EXPECT_EQ(bytes, 2 * (124'439'808 + table));
  const OpId sum = *example.plan().find("step0/all_reduce/tied-head-r0t0@rank3");
  EXPECT_EQ(example.plan().collective(sum).bytes.count, 2 * table);
}

// Gradients of a chunk are exchanged while other chunks still compute.
TEST(Pipeline, ReplicasReduceEachStageForItself) {
  Job job = pipeline_job("1f1b", 2, 4);
  job.parallelism.data_parallel_replicate_degree = 2;
  const Example example = compile_on(job, equal_blocks(2, {.parameters = 1000}), plain_devices(4));
  std::map<std::string, std::int64_t> bytes;
  for (std::size_t i = 0; i < example.plan().size(); ++i) {
    const auto op = id_at<OpId>(i);
    if (example.plan().kind(op) == OpKind::kCollective) {
      bytes[std::string(example.plan().group_name(example.plan().shape(op).group))] +=
          example.plan().collective(op).bytes.count;
    }
  }
  EXPECT_EQ(bytes,
            (std::map<std::string, std::int64_t>{{"dp-s0-t0", 2 * 4000}, {"dp-s1-t0", 2 * 4000}}));
}

// Narayanan et al., SOSP 2019: no flush, so that after the first step nothing waits.
TEST(PipeDream, SteadyStepsHaveNoBubble) {
  const Example example =
      compile_on(pipeline_job("pipedream", 4, 8), equal_blocks(4), plain_devices(4), 4);
  sim::SimulationOptions options;
  options.has_communication = false;
  const std::vector<Time> steps = StepEnds(example.plan(), example.simulate(options).trace).times();
  EXPECT_EQ(example.compiled.warmup_steps, 1);
  EXPECT_EQ(steps[1].ps, 8 * kPass);
  EXPECT_EQ(steps[2].ps, 8 * kPass);
  EXPECT_EQ(steps[0].ps + steps[1].ps + steps[2].ps + steps[3].ps, (4 * 8 + 3) * kPass);
}

TEST(PipeDream, StageKeepsAVersionForEachMicroBatchInFlight) {
  const Example example = compile_on(pipeline_job("pipedream", 4, 8),
                                     equal_blocks(4, {.parameters = 500}), plain_devices(4));
  for (std::size_t rank = 0; rank < 4; ++rank) {
    const Plan& plan = example.plan();
    std::int64_t versions = 0;
    for (const MemoryEffect& effect :
         plan.memory_effects(*plan.find(fmt::format("setup@rank{}", rank)))) {
      versions += effect.part() == MemoryPart::kVersions ? effect.bytes().count : 0;
    }
    EXPECT_EQ(versions, static_cast<std::int64_t>(3 - rank) * 500 * 4);
  }
}

// Counted in the schedule itself: updates between a micro-batch's forward and its own.
TEST(PipeDream, StalenessIsTheStagesBehind) {
  constexpr std::int64_t kStages = 5;
  for (std::int64_t stage = 0; stage < kStages; ++stage) {
    std::map<std::int64_t, std::int64_t> updates_at_forward;
    std::int64_t updates = 0;
    std::int64_t most = 0;
    for (const StageAction& action : pipedream_schedule({kStages, 1, 4, 6}, stage)) {
      const std::int64_t number = action.step * 4 + action.micro;
      if (action.kind == ActionKind::kForward) {
        updates_at_forward[number] = updates;
      } else if (action.kind == ActionKind::kUpdate) {
        most = std::max(most, updates - updates_at_forward[number]);
        ++updates;
      }
    }
    EXPECT_EQ(updates, 4 * 6);
    EXPECT_EQ(most, pipedream_staleness(kStages, stage));
    EXPECT_EQ(pipedream_versions(kStages, stage), most + 1);
  }
}

// Of K stages, one has staleness K − 1, one K − 2, … one 0: equally many gradients of each.
TEST(PipeDream, RunsAreAsStaleAsTheScheduleSays) {
  constexpr std::int64_t kStages = 4;
  constexpr std::int64_t kMicro = 8;
  constexpr std::int64_t kSteps = 3;
  const Example example = compile_on(pipeline_job("pipedream", kStages, kMicro), equal_blocks(4),
                                     plain_devices(kStages), kSteps);
  const Staleness staleness =
      pipeline_staleness(example.plan(), example.simulate().trace, example.compiled.warmup_steps);
  const std::int64_t counted = kMicro * (kSteps - 1);
  EXPECT_THAT(staleness.histogram, ElementsAre(counted, counted, counted, counted));
  EXPECT_DOUBLE_EQ(staleness.mean, (kStages - 1) / 2.0);
  const Example flushed =
      compile_on(pipeline_job("1f1b", kStages, kMicro), equal_blocks(4), plain_devices(kStages), 3);
  EXPECT_EQ(pipeline_staleness(flushed.plan(), flushed.simulate().trace), Staleness{});
}

TEST(PipeDream, ReplicasReduceAfterEveryMicroBatch) {
  Job job = pipeline_job("pipedream", 2, 3);
  job.parallelism.data_parallel_replicate_degree = 2;
  const Example example = compile_on(job, equal_blocks(2, {.parameters = 10}), plain_devices(4), 2);
  for (const char* const id :
       {"step0/all_reduce/bucket0-s0t0/mb2@rank0", "step1/update/mb0@rank3"}) {
    EXPECT_TRUE(example.plan().find(id)) << id;
  }
}

TEST(PipeDream, WhatItCannotDoIsRefused) {
  Job job = pipeline_job("pipedream", 2, 4);
  job.parallelism.virtual_stages = 2;
  Diagnostics diagnostics;
  compile(job, equal_blocks(4), plain_devices(2), {}, diagnostics);
  EXPECT_THAT(all_messages(diagnostics), HasSubstr("E0909 /parallelism/virtual_stages"));
}

// compile_on() validates: no cycle, no deadlock, every message and collective meets.
TEST(Pipeline, EveryShapeCanRun) {
  for (const char* const strategy :
       {"layer_model_parallel", "gpipe", "1f1b", "interleaved_1f1b", "pipedream"}) {
    for (const std::int64_t stages : {1, 2, 3, 5}) {
      for (const std::int64_t groups : {1, 2, 3}) {
        for (const std::int64_t replicas : {1, 2}) {
          for (const bool overlap : {true, false}) {
            Job job = pipeline_job(strategy, stages, groups * stages);
            job.parallelism.data_parallel_replicate_degree = replicas;
            job.parallelism.overlap = overlap;
            job.parallelism.virtual_stages = job.parallelism.strategy.starts_with("inter") ? 3 : 1;
            job.mapping.order = overlap ? "tp-dp-pp" : "pp-tp-dp";
            const Example example = compile_on(job, equal_blocks(15, {.parameters = 10}),
                                               plain_devices(stages * replicas), 2);
            EXPECT_GT(example.simulate().trace.makespan.ps, 0);
          }
        }
      }
    }
  }
}

TEST(Pipeline, EveryCombinationOfATransformerCanRun) {
  for (const char* const strategy : {"gpipe", "1f1b", "interleaved_1f1b", "pipedream"}) {
    for (const auto& [tensor, stages] : {std::pair{1, 4}, {2, 2}, {2, 4}, {4, 1}}) {
      for (const Recompute recompute :
           {Recompute::kNone, Recompute::kSelective, Recompute::kFull}) {
        for (const bool sequence : {false, true}) {
          Job job = pipeline_job(strategy, stages, 4);
          job.training.recompute = recompute;
          job.training.dtype = Dtype::kBf16;
          job.parallelism.tensor_parallel_degree = tensor;
          job.parallelism.sequence_parallel = sequence;
          const Example example = compile_example(job, "gpt2", "dgx-a100", 2);
          EXPECT_EQ(example.compiled.layout.replicas, 8 / tensor / stages);
        }
      }
    }
  }
}

// ZeRO gathers and reduces weights stage by stage while micro-batches and recomputation go on.
TEST(Pipeline, EveryStageOfZeroCanRun) {
  for (const char* const strategy : {"gpipe", "1f1b", "interleaved_1f1b", "tensor_parallel"}) {
    for (const std::int64_t zero : {1, 2, 3}) {
      for (const Recompute recompute :
           {Recompute::kNone, Recompute::kSelective, Recompute::kFull}) {
        Job job = pipeline_job(strategy, 2, 4);
        job.training.recompute = recompute;
        job.training.dtype = Dtype::kBf16;
        job.parallelism.tensor_parallel_degree = 2;
        job.parallelism.zero_stage = zero;
        const Example example = compile_example(job, "gpt2", "dgx-a100", 2);
        EXPECT_EQ(example.compiled.layout.shards, 2);
        EXPECT_GT(example.simulate().trace.makespan.ps, 0);
      }
    }
  }
}

// Who simulates at once compiles without the check and asks for it when the run comes to a stand.
TEST(CheckWaiting, ComplainsOfOpsThatWaitForEachOtherAndOfNoOthers) {
  PlanBuilder builder;
  const StreamId stream = builder.stream(builder.add_device("gpu0"), "compute");
  const OpId first = builder.add_compute("first", stream, {.flops = 1});
  const OpId second = builder.add_compute("second", stream, {.flops = 1});
  builder.depend(first, second);
  Diagnostics complaints;
  check_waiting({}, std::move(builder).finish(), complaints);
  EXPECT_TRUE(complaints.has_errors());

  const Job job = pipeline_job("1f1b", 4, 8);
  Diagnostics none;
  const auto compiled =
      compile(job, equal_blocks(4), plain_devices(4), {.checks_waiting = false}, none);
  ASSERT_TRUE(compiled);
  check_waiting(job, compiled->plan, none);
  EXPECT_FALSE(none.has_errors());
}

}  // namespace
}  // namespace twinrun
