#include "core/plan/plan_builder.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace twinrun {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct TwoDevices {
  PlanBuilder builder;
  DeviceId gpu0 = builder.add_device("gpu0");
  DeviceId gpu1 = builder.add_device("gpu1");
  StreamId compute0 = builder.stream(gpu0, "compute");
  StreamId compute1 = builder.stream(gpu1, "compute");
  StreamId comm0 = builder.stream(gpu0, "comm");
  StreamId comm1 = builder.stream(gpu1, "comm");
  GroupId world = builder.add_group("world", std::vector{gpu0, gpu1});
};

TEST(PlanBuilder, GivesTheSameIdForTheSameName) {
  TwoDevices t;
  EXPECT_EQ(t.builder.add_device("gpu1"), t.gpu1);
  EXPECT_EQ(t.builder.stream(t.gpu0, "compute"), t.compute0);
  EXPECT_NE(t.compute0, t.compute1);
  EXPECT_EQ(t.builder.add_group("world"), t.world);
}

TEST(Plan, KeepsEdgesInBothDirections) {
  TwoDevices t;
  const OpId a = t.builder.add_compute("a", t.compute0, {});
  const OpId b = t.builder.add_compute("b", t.compute0, {});
  const OpId c = t.builder.add_marker("c", t.compute1);
  t.builder.depend(c, b);
  t.builder.depend(c, a);
  t.builder.depend(b, a);
  const Plan plan = std::move(t.builder).finish();
  EXPECT_THAT(plan.predecessors(c), ElementsAre(b, a));
  EXPECT_THAT(plan.successors(a), ElementsAre(c, b));
  EXPECT_THAT(plan.predecessors(a), IsEmpty());
  EXPECT_EQ(plan.edge_count(), 3U);
  EXPECT_EQ(plan.id(c), "c");
  EXPECT_EQ(plan.find("b"), b);
  EXPECT_EQ(plan.find("d"), std::nullopt);
}

TEST(Plan, StreamsKeepTheOrderOfAdding) {
  TwoDevices t;
  const OpId a = t.builder.add_marker("a", t.compute0);
  const OpId b = t.builder.add_marker("b", t.compute1);
  const OpId c = t.builder.add_marker("c", t.compute0);
  const Plan plan = std::move(t.builder).finish();
  EXPECT_THAT(plan.stream_ops(t.compute0), ElementsAre(a, c));
  EXPECT_THAT(plan.stream_ops(t.compute1), ElementsAre(b));
  EXPECT_EQ(plan.device(b), t.gpu1);
  EXPECT_EQ(plan.stream_name(plan.stream(b)), "compute");
}

TEST(Plan, RanksOfOneCollectiveMeetByTheIdBeforeTheAt) {
  TwoDevices t;
  const OpId a0 = t.builder.add_collective("sum/0@gpu0", t.comm0, {.group = t.world});
  const OpId b0 = t.builder.add_collective("sum/1@gpu0", t.comm0, {.group = t.world});
  const OpId a1 = t.builder.add_collective("sum/0@gpu1", t.comm1, {.group = t.world});
  const OpId b1 = t.builder.add_collective("other", t.comm1, {.group = t.world, .match = "sum/1"});
  const Plan plan = std::move(t.builder).finish();
  ASSERT_EQ(plan.instance_count(), 2U);
  EXPECT_THAT(plan.instance_ops(plan.collective(a1).instance), ElementsAre(a0, a1));
  EXPECT_THAT(plan.instance_ops(plan.collective(b1).instance), ElementsAre(b0, b1));
  EXPECT_EQ(plan.match(b1), "sum/1");
  EXPECT_EQ(plan.match(a0), "sum/0");
}

TEST(Plan, CollectivesOfDifferentGroupsNeverMeet) {
  TwoDevices t;
  const GroupId other = t.builder.add_group("other", std::vector{t.gpu1, t.gpu0});
  t.builder.add_collective("sum@gpu0", t.comm0, {.group = t.world});
  t.builder.add_collective("sum@gpu1", t.comm1, {.group = other});
  EXPECT_EQ(std::move(t.builder).finish().instance_count(), 2U);
}

TEST(Plan, SendsMeetRecvsOfTheirTagInOrder) {
  TwoDevices t;
  const OpId r1 = t.builder.add_recv("r1", t.comm1, {.peer = t.gpu0});
  const OpId s1 = t.builder.add_send("s1", t.comm0, {.peer = t.gpu1});
  const OpId s2 = t.builder.add_send("s2", t.comm0, {.peer = t.gpu1});
  const OpId s3 = t.builder.add_send("s3", t.comm0, {.peer = t.gpu1, .tag = 7});
  const OpId back = t.builder.add_send("back", t.comm1, {.peer = t.gpu0, .tag = 7});
  const OpId r3 = t.builder.add_recv("r3", t.comm1, {.peer = t.gpu0, .tag = 7});
  const OpId r2 = t.builder.add_recv("r2", t.comm1, {.peer = t.gpu0});
  const Plan plan = std::move(t.builder).finish();
  EXPECT_EQ(plan.message(s1).partner, r1);
  EXPECT_EQ(plan.message(r1).partner, s1);
  EXPECT_EQ(plan.message(s2).partner, r2);
  EXPECT_EQ(plan.message(s3).partner, r3);
  EXPECT_EQ(plan.message(back).partner, no_id<OpId>());
}

TEST(Plan, OpsWithoutDurationPriorityOrMemoryHaveNone) {
  TwoDevices t;
  const OpId a = t.builder.add_host("a", t.compute0, Time{5});
  const OpId b = t.builder.add_marker("b", t.compute0);
  t.builder.set_priority(a, -3);
  t.builder.add_memory_effect(a, {MemoryPart::kVersions, {-9}, MemoryWhen::kEnd});
  const Plan plan = std::move(t.builder).finish();
  EXPECT_EQ(plan.duration(a), Time{5});
  EXPECT_EQ(plan.duration(b), std::nullopt);
  EXPECT_EQ(plan.priority(a), -3);
  EXPECT_EQ(plan.priority(b), 0);
  EXPECT_THAT(plan.memory_effects(b), IsEmpty());
  ASSERT_EQ(plan.memory_effects(a).size(), 1U);
  EXPECT_EQ(plan.memory_effects(a)[0].bytes(), Bytes{-9});
  EXPECT_EQ(plan.memory_effects(a)[0].part(), MemoryPart::kVersions);
  EXPECT_EQ(plan.memory_effects(a)[0].when(), MemoryWhen::kEnd);
}

TEST(MemoryEffect, HoldsItsLargestAmountsInEightBytes) {
  static_assert(sizeof(MemoryEffect) == 8);
  for (const std::int64_t bytes :
       {MemoryEffect::kLargest, -MemoryEffect::kLargest, std::int64_t{1}, std::int64_t{-1}}) {
    const MemoryEffect effect(MemoryPart::kWorkspace, {bytes}, MemoryWhen::kStart);
    EXPECT_EQ(effect.bytes().count, bytes);
    EXPECT_EQ(effect.part(), MemoryPart::kWorkspace);
    EXPECT_EQ(effect.when(), MemoryWhen::kStart);
  }
}

TEST(Plan, KernelsAreKeptOnce) {
  TwoDevices t;
  const Kernel gemm{KernelKind::kGemm, 2, 3, 4, "", std::nullopt};
  const OpId a = t.builder.add_compute("a", t.compute0, {.kernel = gemm});
  const OpId b = t.builder.add_compute("b", t.compute0, {.flops = 1, .kernel = gemm});
  const OpId c = t.builder.add_compute("c", t.compute0, {});
  const Plan plan = std::move(t.builder).finish();
  EXPECT_EQ(plan.kernel(a), plan.kernel(b));
  EXPECT_EQ(*plan.kernel(a), gemm);
  EXPECT_EQ(plan.kernel(c), nullptr);
}

// Every kind of op, each with a duration and a priority, no two computes alike: the worst a plan
// can be without memory effects, which are things of their own like edges.
TEST(Plan, AMillionOpsTakeAtMost64BytesEachAnd8AnEdge) {
  constexpr std::size_t kOps = 1'000'000;
  TwoDevices t;
  OpId before = no_id<OpId>();
  for (std::size_t i = 0; t.builder.size() < kOps; ++i) {
    const std::string name = std::to_string(i);
    const OpId compute =
        t.builder.add_compute("c" + name, t.compute0, {.flops = static_cast<double>(i)});
    const OpId send = t.builder.add_send("s" + name, t.comm0, {.peer = t.gpu1});
    t.builder.add_recv("r" + name, t.comm1, {.peer = t.gpu0});
    const OpId sum0 = t.builder.add_collective(name + "@0", t.comm0, {.group = t.world});
    const OpId sum1 = t.builder.add_collective(name + "@1", t.comm1, {.group = t.world});
    for (const OpId op : {compute, send, sum0, sum1}) {
      t.builder.set_duration(op, Time{1});
      t.builder.set_priority(op, 1);
      if (before != no_id<OpId>()) {
        t.builder.depend(op, before);
      }
    }
    before = sum1;
  }
  const Plan plan = std::move(t.builder).finish();
  EXPECT_GE(plan.size(), kOps);
  EXPECT_LE(plan.memory_use().bytes_per_op, 64);
  EXPECT_LE(plan.memory_use().bytes_per_edge, 8);
}

}  // namespace
}  // namespace twinrun
