#include "core/trace/compare.h"

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/trace/compared_runs.h"

namespace twinrun {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using What = HandOp::What;

constexpr double kUs = 1e-6;
constexpr double kClose = 1e-15;

// One step of two ranks; times in the comments are microseconds. `reduce` is how long the
// all-reduce takes, `backward1` the backward pass of rank 1.
HandRun two_ranks(double reduce, double backward1 = 3, std::string_view source = "simulated") {
  const double met = 3 + std::max(3.0, backward1);
  const double end = met + reduce;
  return hand_run(
      {
          {"forward@rank0", "gpu0", What::kCompute, 0, 0, 3},
          {"forward@rank1", "gpu1", What::kCompute, 0, 0, 3},
          {"backward@rank0", "gpu0", What::kCompute, 3, 3, 6},
          {"backward@rank1", "gpu1", What::kCompute, 3, 3, 3 + backward1},
          {"grads@rank0", "gpu0", What::kReduce, 6, met, end, {"backward@rank0"}},
          {"grads@rank1", "gpu1", What::kReduce, 3 + backward1, met, end, {"backward@rank1"}},
          {"update@rank0", "gpu0", What::kCompute, end, end, end + 1, {"grads@rank0"}},
          {"update@rank1", "gpu1", What::kCompute, end, end, end + 1, {"grads@rank1"}},
      },
      source);
}

const MetricDifference& metric(const Comparison& comparison, std::string_view name) {
  for (const MetricDifference& one : comparison.metrics) {
    if (one.name == name) {
      return one;
    }
  }
  throw std::logic_error("no such metric");
}

// Name and microseconds of what is not zero.
std::vector<std::pair<std::string, double>> shares(const Comparison& comparison) {
  std::vector<std::pair<std::string, double>> out;
  for (const OpDifference& op : comparison.ops) {
    if (std::abs(op.on_path_s) > 1e-12) {
      out.emplace_back(op.name, std::round(op.on_path_s / kUs * 1000) / 1000);
    }
  }
  for (const WaitDifference& wait : comparison.waits) {
    out.emplace_back("wait " + wait.before, std::round(wait.on_path_s / kUs * 1000) / 1000);
  }
  return out;
}

using Share = std::pair<std::string, double>;

double sum_of_shares(const Comparison& comparison) {
  double sum = comparison.waiting_difference_s;
  for (const OpDifference& op : comparison.ops) {
    sum += op.on_path_s;
  }
  return sum;
}

TEST(Compare, ALongerAllReduceExplainsAllOfALongerStep) {
  const HandRun a = two_ranks(2);
  const HandRun b = two_ranks(4, 3, "executed");
  const Comparison both = compare(a.compared(), b.compared());
  EXPECT_EQ(both.a.source, "simulated");
  EXPECT_EQ(both.b.source, "executed");
  EXPECT_NEAR(both.step_difference_s, 2 * kUs, kClose);
  EXPECT_THAT(shares(both), ElementsAre(Share("grads@rank0", 2)));
  EXPECT_EQ(both.ops.front().name, "grads@rank0");
  EXPECT_NEAR(both.ops.front().share_pct.value(), 100, 1e-9);
  EXPECT_NEAR(both.ops.front().a_s, 2 * kUs, kClose);
  EXPECT_NEAR(both.ops.front().b_s, 4 * kUs, kClose);
  // The other rank's is as far apart, but nobody waited for it.
  EXPECT_EQ(both.ops[1].name, "grads@rank1");
  EXPECT_EQ(both.ops[1].share_pct, 0.0);
  EXPECT_EQ(both.ops.size(), 8U);
  EXPECT_THAT(both.only_in_a, IsEmpty());
  EXPECT_THAT(both.only_in_b, IsEmpty());
  EXPECT_TRUE(both.paths.parting.are_same);
}

TEST(Compare, MetricsOfBothSidesAndTheirDifference) {
  const HandRun a = two_ranks(2);
  const HandRun b = two_ranks(4);
  ComparedRun a_run = a.compared();
  a_run.t2_s = 2 * kUs;
  const Comparison both = compare(a_run, b.compared());
  // name, a, b in microseconds: 3 + 3 + reduce + 1; compute alone 7.
  const std::map<std::string_view, std::pair<double, double>> expected = {
      {"step_s", {9, 11}},
      {"t1_s", {7, 7}},
      {"communication_s", {2, 4}},
      {"exposed_communication_s", {2, 4}}};
  for (const auto& [name, values] : expected) {
    EXPECT_NEAR(metric(both, name).a.value(), values.first * kUs, kClose) << name;
    EXPECT_NEAR(metric(both, name).b.value(), values.second * kUs, kClose) << name;
    EXPECT_NEAR(metric(both, name).difference_pct.value(),
                100 * (values.second - values.first) / values.first, 1e-9)
        << name;
  }
  EXPECT_EQ(metric(both, "overlap_pct").a, 0.0);
  EXPECT_EQ(metric(both, "t2_s").a, 2 * kUs);
  EXPECT_EQ(metric(both, "t2_s").b, std::nullopt);
  EXPECT_EQ(metric(both, "t2_s").difference_pct, std::nullopt);
  EXPECT_EQ(metric(both, "peak_memory_bytes").a, std::nullopt);
}

TEST(Compare, AStragglerIsFoundOnItsRank) {
  const HandRun a = two_ranks(2);
  const HandRun b = two_ranks(2, 8);  // rank 1's backward takes 8 instead of 3
  const Comparison both = compare(a.compared(), b.compared());
  EXPECT_THAT(shares(both), ElementsAre(Share("backward@rank1", 5)));
  EXPECT_EQ(both.devices.front().device, "gpu1");
  EXPECT_NEAR(both.devices.front().b->compute_s, 12 * kUs, kClose);
  // rank 0 waits for it, which shows in its all-reduce and not in its work.
  const auto& collective = both.collectives.at(0);
  EXPECT_NEAR(collective.a->waiting_s, 0, kClose);
  EXPECT_NEAR(collective.b->waiting_s, 2.5 * kUs, kClose);  // mean of 5 and 0
  EXPECT_NEAR(collective.b->time_s, 2 * kUs, kClose);
  EXPECT_TRUE(both.paths.parting.are_same) << "another rank is no other path";
}

TEST(Compare, TheOtherWayRoundHasTheOtherSign) {
  const HandRun a = two_ranks(2);
  const HandRun b = two_ranks(2, 8);
  const Comparison back = compare(b.compared(), a.compared());
  EXPECT_FALSE(back.b_is_slower);
  EXPECT_NEAR(back.step_difference_s, -5 * kUs, kClose);
  EXPECT_THAT(shares(back), ElementsAre(Share("backward@rank1", -5)));
  EXPECT_NEAR(back.ops.front().share_pct.value(), 100, 1e-9);
}

// compute 5 and copy beside each other, then both are needed: 5 + 1 and 8 + 1.
HandRun side_by_side(double copy) {
  const double met = std::max(5.0, copy);
  return hand_run({{"load@rank0", "gpu0", What::kCopy, 0, 0, copy},
                   {"forward@rank0", "gpu0", What::kCompute, 0, 0, 5},
                   {"backward@rank0", "gpu0", What::kCompute, met, met, met + 1, {"load@rank0"}}});
}

TEST(Compare, WhatWasHiddenBeforeIsTakenOffAsWaiting) {
  const HandRun a = side_by_side(4);
  const HandRun b = side_by_side(8);
  const Comparison both = compare(a.compared(), b.compared());
  EXPECT_NEAR(both.step_difference_s, 3 * kUs, kClose);
  // The copy takes 4 more, of which 1 was time that the backward pass waited for compute anyway.
  EXPECT_THAT(shares(both), ElementsAre(Share("load@rank0", 4), Share("wait backward@rank0", -1)));
  EXPECT_NEAR(both.waits.front().a_s, 1 * kUs, kClose);
  EXPECT_NEAR(both.waits.front().b_s, 0, kClose);
  EXPECT_NEAR(both.waiting_share_pct.value(), -100.0 / 3, 1e-9);
  const PathParting& parting = both.paths.parting;
  EXPECT_FALSE(parting.are_same);
  EXPECT_EQ(parting.common, 0U);
  EXPECT_EQ(parting.next_in_a, "forward");
  EXPECT_EQ(parting.next_in_b, "load");
  EXPECT_EQ(parting.meet_at, "backward");
}

TEST(Compare, TimeThatNobodyExplainsIsWaiting) {
  const HandRun a = hand_run({{"forward@rank0", "gpu0", What::kCompute, 0, 0, 5},
                              {"backward@rank0", "gpu0", What::kCompute, 5, 5, 9}});
  const HandRun b = hand_run({{"forward@rank0", "gpu0", What::kCompute, 0, 1, 6},
                              {"backward@rank0", "gpu0", What::kCompute, 6, 8, 12}});
  const Comparison both = compare(a.compared(), b.compared());
  EXPECT_THAT(shares(both),
              ElementsAre(Share("wait backward@rank0", 2), Share("wait forward@rank0", 1)));
  EXPECT_NEAR(both.waiting_share_pct.value(), 100, 1e-9);
}

TEST(Compare, ARunAgainstItselfIsAllZeros) {
  const HandRun a = two_ranks(2, 5);
  const Comparison both = compare(a.compared(), a.compared());
  EXPECT_EQ(both.step_difference_s, 0);
  for (const MetricDifference& one : both.metrics) {
    EXPECT_EQ(one.a, one.b) << one.name;
    EXPECT_EQ(one.difference_pct.value_or(0), 0) << one.name;
  }
  for (const OpDifference& op : both.ops) {
    EXPECT_EQ(op.a_s, op.b_s) << op.name;
    EXPECT_EQ(op.on_path_s, 0) << op.name;
    EXPECT_EQ(op.share_pct, 0.0) << op.name;
  }
  EXPECT_THAT(both.waits, IsEmpty());
  for (const auto& groups : {both.kinds, both.phases}) {
    for (const GroupDifference& group : groups) {
      EXPECT_EQ(group.a, group.b) << group.name;
    }
  }
  for (const DeviceDifference& device : both.devices) {
    EXPECT_EQ(device.a, device.b) << device.device;
  }
  for (const CollectiveDifference& collective : both.collectives) {
    EXPECT_EQ(collective.a, collective.b);
  }
  EXPECT_TRUE(both.paths.parting.are_same);
}

TEST(Compare, PhasesOnThePathAddUpToTheStep) {
  const HandRun a = two_ranks(2);
  const HandRun b = two_ranks(4, 5);
  const Comparison both = compare(a.compared(), b.compared());
  // name; on the path of a and b; working on the mean device of a and b.
  const std::vector<std::tuple<std::string, double, double, double, double>> expected = {
      {"forward", 3, 3, 3, 3},
      {"backward", 3, 5, 3, 4},
      {"update", 1, 1, 1, 1},
      {"communication", 2, 4, 2, 4},
      {"waiting", 0, 0, 0, 0}};
  ASSERT_EQ(both.phases.size(), expected.size());
  double sum_a = 0;
  double sum_b = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto& [name, path_a, path_b, working_a, working_b] = expected[i];
    EXPECT_EQ(both.phases[i].name, name);
    EXPECT_NEAR(both.phases[i].a.on_path_s, path_a * kUs, kClose) << name;
    EXPECT_NEAR(both.phases[i].b.on_path_s, path_b * kUs, kClose) << name;
    EXPECT_NEAR(both.phases[i].a.working_s, working_a * kUs, kClose) << name;
    EXPECT_NEAR(both.phases[i].b.working_s, working_b * kUs, kClose) << name;
    sum_a += both.phases[i].a.on_path_s;
    sum_b += both.phases[i].b.on_path_s;
  }
  EXPECT_NEAR(sum_a, 9 * kUs, kClose);
  EXPECT_NEAR(sum_b, 13 * kUs, kClose);
}

// Steps of one op each, as long as given.
HandRun steps_of(const std::vector<double>& lengths) {
  std::vector<HandOp> ops;
  double now = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    ops.push_back({"step" + std::to_string(i) + "/forward/fc1@rank0", "gpu0", What::kCompute, now,
                   now, now + lengths[i]});
    now += lengths[i];
  }
  return hand_run(ops);
}

TEST(Compare, StepsAreAveragedAfterTheWarmUpWithTheirSpread) {
  const HandRun a = steps_of({4, 4});
  const HandRun b = steps_of({100, 5, 7, 9});
  const Comparison both = compare(a.compared(), b.compared(1));
  EXPECT_EQ(both.a.steps, 2);
  EXPECT_EQ(both.b.steps, 3);
  EXPECT_NEAR(metric(both, "step_s").b.value(), 7 * kUs, kClose);
  EXPECT_NEAR(metric(both, "step_s").b_deviation, 2 * kUs, kClose);  // √((4 + 0 + 4) / 2)
  EXPECT_EQ(metric(both, "step_s").a_deviation, 0);
  ASSERT_EQ(both.ops.size(), 1U);
  EXPECT_EQ(both.ops[0].name, "forward/fc1@rank0");
  EXPECT_NEAR(both.ops[0].b_s, 7 * kUs, kClose);
  EXPECT_NEAR(both.ops[0].on_path_s, 3 * kUs, kClose);
  EXPECT_NEAR(both.ops[0].share_pct.value(), 100, 1e-9);
}

TEST(Compare, AWarmUpThatIsAllThereIsCounts) {
  const HandRun a = steps_of({4});
  EXPECT_EQ(compare(a.compared(3), a.compared(3)).a.steps, 1);
}

TEST(Compare, StepsThatDidNotEndAreLeftOut) {
  HandRun b = steps_of({4, 5, 6});
  b.trace.ops[2] = {Time{}, Time{0}, Time{-1}};
  b.trace.makespan = microseconds(9);
  b.trace.failure = "rank 0 died";
  const HandRun a = steps_of({4, 4, 4});
  const Comparison both = compare(a.compared(), b.compared());
  EXPECT_EQ(both.b.steps, 2);
  EXPECT_EQ(both.b.incomplete_steps, 1);
  EXPECT_EQ(both.b.failure, "rank 0 died");
  EXPECT_NEAR(metric(both, "step_s").b.value(), 4.5 * kUs, kClose);
  EXPECT_NEAR(sum_of_shares(both), both.step_difference_s, kClose);
  b.trace.ops[0] = b.trace.ops[2];
  const Comparison none = compare(a.compared(), b.compared());
  EXPECT_EQ(none.b.steps, 0);
  EXPECT_EQ(metric(none, "step_s").b, std::nullopt);
}

TEST(Compare, OpsOfOneSideAreListedAndTheirTimeCounts) {
  const HandRun a = hand_run({{"forward@rank0", "gpu0", What::kCompute, 0, 0, 5}});
  const HandRun b = hand_run({{"forward@rank0", "gpu0", What::kCompute, 0, 0, 5},
                              {"recompute@rank0", "gpu0", What::kCompute, 5, 5, 7}});
  const Comparison both = compare(a.compared(), b.compared());
  EXPECT_THAT(both.only_in_b, ElementsAre("recompute@rank0"));
  EXPECT_THAT(both.only_in_a, IsEmpty());
  EXPECT_THAT(shares(both), ElementsAre(Share("recompute@rank0", 2)));
  EXPECT_EQ(both.ops.front().joined_by, JoinedBy::kNothing);
  EXPECT_THAT(compare(b.compared(), a.compared()).only_in_a, ElementsAre("recompute@rank0"));
}

TEST(Compare, CollectivesOfOtherNamesAreJoinedByRankSizeAndOrder) {
  const HandRun a = two_ranks(2);
  const HandRun b = hand_run({{"kernel1@rank0", "gpu0", What::kCompute, 0, 0, 6},
                              {"nccl1@rank0", "gpu0", What::kReduce, 6, 7, 12},
                              {"kernel2@rank0", "gpu0", What::kCompute, 12, 12, 14}},
                             "imported");
  const Comparison both = compare(a.compared(), b.compared());
  ASSERT_EQ(both.collectives.size(), 1U);
  EXPECT_EQ(both.collectives[0].joined_by, JoinedBy::kOrderAndSize);
  EXPECT_EQ(both.collectives[0].a->name, "grads");
  EXPECT_EQ(both.collectives[0].b->name, "nccl1");
  EXPECT_NEAR(both.collectives[0].a->start_s, 6 * kUs, kClose);
  EXPECT_NEAR(both.collectives[0].b->start_s, 7 * kUs, kClose);
  EXPECT_NEAR(both.collectives[0].b->time_s, 5 * kUs, kClose);
  EXPECT_EQ(both.only_in_b, (std::vector<std::string>{"kernel1@rank0", "kernel2@rank0"}));
  EXPECT_NEAR(sum_of_shares(both), 5 * kUs, kClose);
}

TEST(Compare, LinksShowWhatTheyLimitOnBothSides) {
  HandRun a = two_ranks(2);
  a.trace.collectives = {{InstanceId{0}, "ring", "", "gpu0 -> gpu1", 0}};
  a.trace.links = {{"gpu0 -> gpu1", 1000, 22}, {"gpu1 -> gpu0", 1000, 22}, {"spare", 0, 0}};
  const HandRun b = two_ranks(4, 3, "executed");
  const Comparison both = compare(a.compared(), b.compared());
  ASSERT_EQ(both.links.size(), 2U) << "one that carried nothing is not listed";
  EXPECT_EQ(both.links[0].link, "gpu0 -> gpu1");
  EXPECT_NEAR(both.links[0].limited_a_s, 2 * kUs, kClose);
  EXPECT_NEAR(both.links[0].limited_b_s, 4 * kUs, kClose);
  EXPECT_FALSE(both.links[0].b) << "an executed run does not know its links";
}

TEST(Compare, ListsAreCutAndSayByHowMuch) {
  const HandRun a = two_ranks(2);
  const HandRun b = two_ranks(4);
  const Comparison both = compare(a.compared(), b.compared(), {.most_ops = 3});
  EXPECT_EQ(both.ops.size(), 3U);
  EXPECT_EQ(both.ops_left_out, 5U);
  EXPECT_EQ(both.ops.front().name, "grads@rank0");
}

TEST(Compare, NothingAtAllIsNoMistake) {
  const HandRun a = hand_run({});
  const Comparison both = compare(a.compared(), a.compared());
  EXPECT_THAT(both.ops, IsEmpty());
  EXPECT_EQ(both.step_difference_s, 0);
}

}  // namespace
}  // namespace twinrun
