#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/strategy/example_jobs.h"

namespace twinrun {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kResNetBytes = std::int64_t{25'557'032} * 4;

Job server_of_collectives(std::optional<std::int64_t> count) {
  Job job = example_job("parameter_server", 4);
  job.server.given = true;
  job.server.placement = ServerSite::kGpu0;
  job.server.count = count;
  job.server.transport = ServerTransport::kCollectives;
  return job;
}

// Ops whose ids begin so, and the bytes of the collectives among them.
struct Found {
  std::size_t ops = 0;
  std::int64_t bytes = 0;
};
Found find_ops(const Plan& plan, std::string_view begin) {
  Found found;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const auto op = id_at<OpId>(i);
    if (plan.id(op).starts_with(begin)) {
      ++found.ops;
      found.bytes += plan.kind(op) == OpKind::kCollective ? plan.collective(op).bytes.count : 0;
    }
  }
  return found;
}

TEST(CollectiveServer, OneServerReducesUpdatesAndBroadcasts) {
  const Example example =
      compile_example(server_of_collectives(1), "resnet50", "p3.2xlarge:nodes=4", 2);
  const Found reduce = find_ops(example.plan(), "step0/reduce/");
  const Found broadcast = find_ops(example.plan(), "step0/broadcast/");
  EXPECT_EQ(reduce.ops, 4U);
  EXPECT_EQ(reduce.bytes, 4 * kResNetBytes);
  EXPECT_EQ(broadcast.ops, 4U);
  EXPECT_EQ(broadcast.bytes, 4 * kResNetBytes);
  EXPECT_EQ(find_ops(example.plan(), "step0/update").ops, 1U) << "the server alone updates";
}

TEST(CollectiveServer, OneOnEveryReplicaExchangesShares) {
  const Example example =
      compile_example(server_of_collectives(4), "resnet50", "p3.2xlarge:nodes=4", 1);
  EXPECT_EQ(find_ops(example.plan(), "step0/all_to_all/").bytes, 4 * kResNetBytes);
  EXPECT_EQ(find_ops(example.plan(), "step0/all_gather/").bytes, 4 * kResNetBytes);
  EXPECT_EQ(find_ops(example.plan(), "step0/server/sum").ops, 4U);
  EXPECT_EQ(find_ops(example.plan(), "step0/update").ops, 4U);
}

TEST(CollectiveServer, TheNextStepWaitsForTheWeights) {
  const Example example =
      compile_example(server_of_collectives(1), "resnet50", "p3.2xlarge:nodes=4", 2);
  const sim::Simulation run = example.simulate();
  const auto times = [&](std::string_view id) {
    return run.trace.ops[index_of(example.plan().find(id).value())];
  };
  EXPECT_GE(times("step1/forward/conv1@rank3").start,
            times("step0/broadcast/server-s0t0@rank3").end);
}

// Of a pipeline each stage has its own.
TEST(CollectiveServer, ReplicasOfAPipelineUseIt) {
  Job job = server_of_collectives(1);
  job.parallelism.strategy = "gpipe";
  job.parallelism.pipeline_parallel_degree = 2;
  job.training.micro_batch_size = 1;
  const Example example = compile_example(job, "resnet50", "p3.2xlarge:nodes=4", 1);
  EXPECT_EQ(find_ops(example.plan(), "step0/reduce/").ops, 4U);
  EXPECT_EQ(find_ops(example.plan(), "step0/reduce/").bytes, 2 * kResNetBytes);
  EXPECT_EQ(find_ops(example.plan(), "step0/update").ops, 2U);
}

TEST(CollectiveServer, WhatItCannotBeIsSaid) {
  Job job = server_of_collectives(2);
  EXPECT_THAT(complaints_about(job, "resnet50", "p3.2xlarge:nodes=4"),
              HasSubstr("E0909 /server/count: 2 servers made of collectives among 4 replicas"));
  job = server_of_collectives(1);
  job.server.mode = ServerMode::kAsync;
  EXPECT_THAT(complaints_about(job, "resnet50", "p3.2xlarge:nodes=4"),
              HasSubstr("E0909 /server/mode"));
  job = server_of_collectives(1);
  job.server.placement = ServerSite::kCpu;
  EXPECT_THAT(complaints_about(job, "resnet50", "p3.2xlarge:nodes=4"),
              HasSubstr("E0909 /server/placement"));
}

}  // namespace
}  // namespace twinrun
