#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/trace/breakdown.h"
#include "core/trace/device_use.h"
#include "tests/core/strategy/example_jobs.h"

namespace twinrun {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Lt;

constexpr std::int64_t kElementsOfResNet = 25'557'032;
constexpr std::int64_t kStatisticsOfResNet = 53'120;  // formats-and-ux 4.5

double seconds_of(const Example& example) { return to_seconds(example.simulate().trace.makespan); }

std::vector<OpId> ops_with(const Plan& plan, std::string_view word) {
  std::vector<OpId> ops;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (plan.id(id_at<OpId>(i)).find(word) != std::string_view::npos) {
      ops.push_back(id_at<OpId>(i));
    }
  }
  return ops;
}

TEST(DataParallel, IsSlowerThanDdpOnTheSameBox) {
  for (const std::string topology : {"pcie-8gpu", "dgx1-v100"}) {
    const Example one_process =
        compile_example(example_job("data_parallel", 32), "resnet50", topology, 3);
    const Example ddp = compile_example(example_job("ddp", 32), "resnet50", topology, 3);
    EXPECT_GT(seconds_of(one_process), seconds_of(ddp)) << topology;
  }
}

TEST(DataParallel, GpuZeroIsTheBottleneckAndTheOthersIdle) {
  for (const std::string topology : {"pcie-8gpu", "dgx1-v100"}) {
    const Example example =
        compile_example(example_job("data_parallel", 32), "resnet50", topology, 3);
    const Trace trace = example.simulate().trace;
    const std::vector<DeviceUse> use = device_use(example.plan(), trace);
    for (std::size_t rank = 1; rank < 8; ++rank) {
      EXPECT_GT(use[0].compute, use[rank].compute);  // the loss and the update are its alone
      EXPECT_LT(use[0].idle, use[rank].idle);
    }
  }
}

TEST(DataParallel, MovesTheModelTwiceAndTheBatchOnce) {
  const Example example = compile_example(example_job("data_parallel", 4), "resnet50", "dgx1-v100");
  const Plan& plan = example.plan();
  std::int64_t broadcast = 0;
  std::int64_t reduced = 0;
  std::int64_t scattered = 0;
  std::int64_t gathered = 0;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const auto op = id_at<OpId>(i);
    const std::string_view id = plan.id(op);
    if (plan.kind(op) == OpKind::kCollective && id.ends_with("@rank3")) {
      (plan.shape(op).kind == CollectiveKind::kBroadcast ? broadcast : reduced) +=
          plan.collective(op).bytes.count;
    } else if (plan.kind(op) == OpKind::kSend) {
      (id.find("/scatter/") != std::string_view::npos ? scattered : gathered) +=
          plan.message(op).bytes.count;
    }
  }
  EXPECT_EQ(broadcast, 4 * (kElementsOfResNet + kStatisticsOfResNet));
  EXPECT_EQ(reduced, 4 * kElementsOfResNet);
  EXPECT_EQ(scattered, 7 * 4 * 4 * 3 * 224 * 224);
  EXPECT_EQ(gathered, 2 * 7 * 4 * 4 * 1000);  // logits, and their gradients back
}

// Chunks close when they reach 10 MiB: none but the last is smaller.
TEST(DataParallel, TheModelIsBroadcastInTenMebibytes) {
  const Example example = compile_example(example_job("data_parallel", 4), "resnet50", "dgx1-v100");
  std::vector<std::int64_t> chunks;
  for (const OpId op : ops_with(example.plan(), "/broadcast/chunk")) {
    if (example.plan().id(op).ends_with("@rank0")) {
      chunks.push_back(example.plan().collective(op).bytes.count);
    }
  }
  ASSERT_GT(chunks.size(), 1U);
  chunks.pop_back();
  EXPECT_THAT(chunks, Each(::testing::Ge(10 << 20)));
}

TEST(DataParallel, FlopsAreThreeForwardPassesOfTheGlobalBatch) {
  const Example example = compile_example(example_job("data_parallel", 4), "resnet50", "dgx1-v100");
  const double forward = 2.0 * 4'089'184'256;
  const double stem = 2.0 * 118'013'952;
  EXPECT_DOUBLE_EQ(total_flops(example.plan()), (3 * forward - stem) * 32);
}

// The sum of gradients and Adam's moments; activations of the gathered outputs come on top.
TEST(DataParallel, GpuZeroHoldsWhatTheOthersDoNot) {
  Job job = example_job("data_parallel", 4);
  job.training.optimizer = Optimizer::kAdam;
  const Example example = compile_example(job, "resnet50", "dgx1-v100");
  const sim::Simulation run = example.simulate();
  const auto part = [&](std::size_t rank, MemoryPart which) {
    return run.memory[rank].parts[static_cast<std::size_t>(which)].count;
  };
  EXPECT_EQ(part(0, MemoryPart::kParameters), part(1, MemoryPart::kParameters));
  EXPECT_EQ(part(0, MemoryPart::kGradients) - part(1, MemoryPart::kGradients),
            4 * kElementsOfResNet);
  EXPECT_EQ(part(0, MemoryPart::kOptimizer), 8 * kElementsOfResNet);
  EXPECT_EQ(part(1, MemoryPart::kOptimizer), 0);
  EXPECT_GT(run.memory[0].peak, run.memory[1].peak);
}

TEST(DataParallel, LogitsOfALanguageModelFillGpuZero) {
  const Example example = compile_example(example_job("data_parallel", 1), "gpt2", "dgx1-v100");
  const sim::Simulation run = example.simulate();
  const std::int64_t logits = 8LL * 1024 * 50257 * 4;  // of all eight samples
  EXPECT_GE(run.memory[0].peak.count - run.memory[1].peak.count, logits);
}

// 100 = 7 · 13 + 9; 10 over 8 is 2 each, so three have nothing to do.
TEST(DataParallel, BatchesAreDividedAsTorchChunkDoes) {
  Job job = example_job("data_parallel", 1);
  job.training.local_batch_size.reset();
  job.training.global_batch_size = 100;
  const Example hundred = compile_example(job, "resnet50", "dgx1-v100");
  const double forward = 2.0 * 4'089'184'256;
  const double stem = 2.0 * 118'013'952;
  EXPECT_DOUBLE_EQ(total_flops(hundred.plan()), (3 * forward - stem) * 100);
  EXPECT_EQ(hundred.compiled.layout.micro_batch, 13);
  const auto last = ops_with(hundred.plan(), "scatter/rank7@rank7");
  ASSERT_EQ(last.size(), 1U);
  EXPECT_EQ(hundred.plan().message(last[0]).bytes.count, 9 * 4 * 3 * 224 * 224);
  job.training.global_batch_size = 10;
  EXPECT_EQ(compile_example(job, "resnet50", "dgx1-v100").compiled.layout.ranks(), 5U);
}

// One interpreter launches the layers of all n replicas: forward cannot end before it has.
TEST(DataParallel, LaunchesOfOneProcessBoundForward) {
  Job job = example_job("data_parallel", 4);
  job.host.launch = {};
  const Example free = compile_example(job, "resnet50", "dgx1-v100");
  job.host.launch = microseconds(10);
  const Example costly = compile_example(job, "resnet50", "dgx1-v100");
  const std::size_t layers = ops_with(costly.plan(), "/forward/").size() / 8;
  const double pass = 10e-6 * static_cast<double>(layers);
  EXPECT_GT(seconds_of(costly), 8 * pass);
  EXPECT_LT(seconds_of(costly), seconds_of(free) + 8 * pass + 1e-6);
}

// 8 · 10 us a layer are less than its forward at a batch of 64: only the first round of launches is
// seen, and the wait for the last of the others is over long before.
TEST(DataParallel, LaunchesHideBehindLargeBatches) {
  Job job = example_job("data_parallel", 64);
  job.host.launch = {};
  const Example free = compile_example(job, "resnet50", "dgx1-v100");
  job.host.launch = microseconds(10);
  const Example costly = compile_example(job, "resnet50", "dgx1-v100");
  EXPECT_LE(seconds_of(costly), seconds_of(free) + 8 * 10e-6 + 1e-9);
}

// Launches of 1 ms are longer than any layer of a small batch: the wait for them is the host's.
TEST(DataParallel, WaitsForLaunchesAreTheHosts) {
  Job job = example_job("data_parallel", 1);
  job.host.launch = {};
  const Example free = compile_example(job, "resnet50", "dgx1-v100");
  EXPECT_EQ(breakdown(free.plan(), free.simulate().trace).host, Time{});
  job.host.launch = microseconds(1000);
  const Example costly = compile_example(job, "resnet50", "dgx1-v100");
  const std::size_t layers = ops_with(costly.plan(), "/forward/").size() / 8;
  const double host = to_seconds(breakdown(costly.plan(), costly.simulate().trace).host);
  EXPECT_GT(host, 0.9 * 8e-3 * static_cast<double>(layers));
}

// The host's side of a framework's op, up to some 20 us on the hosts of V100: an assumption.
TEST(DataParallel, LaunchesAreNotFreeUnlessTheJobSaysSo) {
  EXPECT_EQ(Job{}.host.launch, microseconds(20));
}

TEST(DataParallel, AccumulatesGradientsOverIterations) {
  Job job = example_job("data_parallel", 8);
  job.training.gradient_accumulation = 2;
  const Example example = compile_example(job, "resnet50", "dgx1-v100");
  EXPECT_EQ(ops_with(example.plan(), "/update").size(), 1U);
  EXPECT_EQ(ops_with(example.plan(), "/forward/loss").size(), 2U);
  const double forward = 2.0 * 4'089'184'256;
  const double stem = 2.0 * 118'013'952;
  EXPECT_DOUBLE_EQ(total_flops(example.plan()), (3 * forward - stem) * 64);
}

TEST(DataParallel, OneDeviceHasNobodyToTalkTo) {
  Job job = example_job("data_parallel", 4);
  job.mapping.ranks = "1";
  const Example example = compile_example(job, "resnet50", "dgx1-v100", 2);
  for (std::size_t i = 0; i < example.plan().size(); ++i) {
    EXPECT_FALSE(is_communication(example.plan().kind(id_at<OpId>(i))));
  }
}

TEST(DataParallel, SeveralMachinesOrStagesNameWhatWouldDo) {
  const std::string said =
      complaints_about(example_job("data_parallel", 4), "resnet50", "dgx1-v100:nodes=2");
  EXPECT_THAT(said, HasSubstr("E0922 /parallelism/strategy"));
  EXPECT_THAT(said, HasSubstr("\"strategy\": \"ddp\""));
  EXPECT_THAT(said, HasSubstr("\"ranks\": \"8\""));
  Job job = example_job("nn.DataParallel", 4);
  job.parallelism.tensor_parallel_degree = 2;
  EXPECT_THAT(complaints_about(job, "gpt2", "dgx1-v100"),
              HasSubstr("E0909 /parallelism/tensor_parallel_degree"));
}

}  // namespace
}  // namespace twinrun
