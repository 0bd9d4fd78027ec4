#include "core/plan/order.h"

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/plan/plan_builder.h"

namespace twinrun {
namespace {

using ::testing::ElementsAre;

constexpr OpId op(std::size_t index) { return id_at<OpId>(index); }

// Markers 0 … n-1, each in a stream of its own so that only the edges (before, after) order them.
Plan free_plan(std::size_t ops, const std::vector<std::pair<std::size_t, std::size_t>>& edges) {
  PlanBuilder builder;
  const DeviceId device = builder.add_device("gpu0");
  for (std::size_t i = 0; i < ops; ++i) {
    const std::string name = std::to_string(i);
    builder.add_marker(name, builder.stream(device, name));
  }
  for (const auto& [before, after] : edges) {
    builder.depend(op(after), op(before));
  }
  return std::move(builder).finish();
}

TEST(TopologicalOrder, PutsEveryOpAfterItsPredecessors) {
  const Plan plan = free_plan(4, {{3, 1}, {1, 0}, {0, 2}});
  EXPECT_THAT(topological_order(plan).value(), ElementsAre(op(3), op(1), op(0), op(2)));
}

TEST(TopologicalOrder, IsAbsentForACycle) {
  EXPECT_EQ(topological_order(free_plan(3, {{0, 1}, {1, 2}, {2, 0}})), std::nullopt);
}

TEST(FindCycles, FindsOneShortestWayForEachKnot) {
  // 0→1→2→0 with the short cut 1→0, and 4⇄5; 3 lies between the two and in neither.
  const Plan plan = free_plan(6, {{0, 1}, {1, 2}, {2, 0}, {1, 0}, {2, 3}, {3, 4}, {4, 5}, {5, 4}});
  const auto cycles = find_cycles(plan.successor_rows());
  ASSERT_EQ(cycles.size(), 2U);
  EXPECT_THAT(cycles[0].way, ElementsAre(op(0), op(1)));
  EXPECT_THAT(cycles[0].component, ElementsAre(op(0), op(1), op(2)));
  EXPECT_THAT(cycles[1].way, ElementsAre(op(4), op(5)));
}

TEST(FindCycles, LeavesOutEdgesToItself) {
  EXPECT_TRUE(find_cycles(free_plan(2, {{0, 0}, {0, 1}}).successor_rows()).empty());
}

TEST(RunOrder, GoesLevelByLevel) {
  // 0 and 1 start, 2 waits for 0, 3 for 1 and 2.
  const Plan plan = free_plan(4, {{0, 2}, {2, 3}, {1, 3}});
  const RunOrder order = run_order(RunGraph(plan));
  EXPECT_THAT(order.nodes, ElementsAre(op(0), op(1), op(2), op(3)));
  EXPECT_THAT(order.level_begin, ElementsAre(0, 2, 3, 4));
  EXPECT_EQ(order.op_count, 4U);
}

TEST(RunOrder, StreamsAndRendezvousOrderOpsWithoutDependencies) {
  PlanBuilder builder;
  const DeviceId a = builder.add_device("a");
  const DeviceId b = builder.add_device("b");
  const GroupId both = builder.add_group("both", std::vector{a, b});
  const OpId work = builder.add_marker("work", builder.stream(a, "s"));
  const OpId sum_b = builder.add_collective("sum@b", builder.stream(b, "s"), {.group = both});
  const OpId after_b = builder.add_marker("after", builder.stream(b, "s"));
  builder.add_collective("sum@a", builder.stream(a, "s"), {.group = both});
  const Plan plan = std::move(builder).finish();
  const RunOrder order = run_order(RunGraph(plan));
  EXPECT_THAT(order.nodes, ElementsAre(work, sum_b, after_b));
  EXPECT_EQ(order.op_count, 4U);
}

TEST(CriticalPath, ByCountAndByDurationDiffer) {
  // 0→1→2 are three ops of 1 ps each; 3→4 are two of 10.
  PlanBuilder builder;
  const DeviceId device = builder.add_device("gpu0");
  for (std::size_t i = 0; i < 5; ++i) {
    const std::string name = std::to_string(i);
    builder.add_host(name, builder.stream(device, name), Time{i < 3 ? 1 : 10});
  }
  builder.depend(op(1), op(0));
  builder.depend(op(2), op(1));
  builder.depend(op(4), op(3));
  const Plan plan = std::move(builder).finish();
  const RunGraph graph(plan);
  const RunOrder order = run_order(graph);
  const CriticalPath count = critical_path_by_count(graph, order);
  EXPECT_THAT(count.ops, ElementsAre(op(0), op(1), op(2)));
  EXPECT_EQ(count.length, Time{3});
  const CriticalPath duration = critical_path_by_duration(graph, order);
  EXPECT_THAT(duration.ops, ElementsAre(op(3), op(4)));
  EXPECT_EQ(duration.length, Time{20});
}

TEST(CriticalPath, GoesThroughACollectiveToTheOtherRank) {
  PlanBuilder builder;
  const DeviceId a = builder.add_device("a");
  const DeviceId b = builder.add_device("b");
  const GroupId both = builder.add_group("both", std::vector{a, b});
  const OpId slow = builder.add_host("slow", builder.stream(a, "s"), Time{100});
  const OpId sum_a = builder.add_collective("sum@a", builder.stream(a, "s"), {.group = both});
  const OpId sum_b = builder.add_collective("sum@b", builder.stream(b, "s"), {.group = both});
  const OpId last = builder.add_host("last", builder.stream(b, "s"), Time{7});
  builder.set_duration(sum_a, Time{10});
  builder.set_duration(sum_b, Time{20});
  const Plan plan = std::move(builder).finish();
  const RunGraph graph(plan);
  const CriticalPath path = critical_path_by_duration(graph, run_order(graph));
  EXPECT_THAT(path.ops, ElementsAre(slow, sum_b, last));
  EXPECT_EQ(path.length, Time{127});  // the collective takes the longest of its ranks' times
}

TEST(CriticalPath, AgreesWithAllPathsOnRandomGraphs) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const std::size_t ops = 2 + random() % 12;
    std::vector<std::pair<std::size_t, std::size_t>> edges;
    for (std::size_t b = 1; b < ops; ++b) {
      for (std::size_t a = 0; a < b; ++a) {
        if (random() % 4 == 0) {
          edges.emplace_back(a, b);
        }
      }
    }
    std::vector<std::size_t> longest(ops, 1);  // edges are sorted by their later end
    for (const auto& [a, b] : edges) {
      longest[b] = std::max(longest[b], longest[a] + 1);
    }
    const Plan plan = free_plan(ops, edges);
    const RunGraph graph(plan);
    EXPECT_EQ(critical_path_by_count(graph, run_order(graph)).ops.size(),
              *std::max_element(longest.begin(), longest.end()));
  }
}

}  // namespace
}  // namespace twinrun
