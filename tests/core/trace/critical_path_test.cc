#include "core/trace/critical_path.h"

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/plan/plan_builder.h"
#include "core/trace/device_use.h"
#include "core/trace/steps.h"
#include "sim/simulate.h"
#include "tests/core/topology/topologies_for_tests.h"

namespace twinrun {
namespace {

// Any graph of computes, copies and all-reduces whose edges go from earlier to later ops.
Plan random_plan(std::uint32_t seed) {
  std::mt19937 random(seed);
  PlanBuilder builder;
  std::vector<DeviceId> devices;
  for (int i = 0; i < 4; ++i) {
    devices.push_back(builder.add_device("gpu" + std::to_string(i)));
  }
  const GroupId group = builder.add_group("all", devices);
  std::vector<OpId> ops;
  const auto link = [&](OpId op) {
    for (std::uint32_t i = 0; i < random() % 3 && !ops.empty(); ++i) {
      builder.depend(op, ops[random() % ops.size()]);
    }
  };
  for (int i = 0; i < 60; ++i) {
    const std::string id = "op" + std::to_string(i);
    const DeviceId device = devices[random() % 4];
    const std::uint32_t what = random() % 8;
    std::vector<OpId> added;
    if (what == 0) {
      for (const DeviceId rank : devices) {
        added.push_back(builder.add_collective(
            id + "@" + std::to_string(index_of(rank)), builder.stream(rank, "comm"),
            {.group = group, .bytes = {1 << (10 + random() % 3)}, .algorithm = "ring"}));
      }
    } else if (what < 3) {
      const DeviceId to = devices[(index_of(device) + 1 + random() % 3) % 4];
      added.push_back(builder.add_copy(id, builder.stream(device, "copy"), to,
                                       {static_cast<std::int64_t>(random() % 1'000'000)}));
    } else {
      added.push_back(builder.add_compute(id, builder.stream(device, "compute"), {}));
      builder.set_duration(added.back(), {static_cast<std::int64_t>(random() % 50'000'000)});
    }
    for (const OpId op : added) {
      link(op);
    }
    ops.insert(ops.end(), added.begin(), added.end());
  }
  return std::move(builder).finish();
}

TEST(CriticalPath, AddsUpToTheMakespanWithoutWaitsInASimulation) {
  const Topology topology = topology_of("dgx1-v100");
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const Plan plan = random_plan(seed);
    const Trace trace = sim::simulate(plan, topology).trace;
    const CriticalPath path = critical_path(plan, trace);
    ASSERT_EQ(path.compute + path.communication, trace.makespan) << seed;
    ASSERT_EQ(path.wait, Time{}) << seed;
    for (std::size_t i = 1; i < path.ops.size(); ++i) {
      ASSERT_EQ(trace.ops[index_of(path.ops[i])].start, trace.ops[index_of(path.ops[i - 1])].end);
    }
  }
}

// Laws of every run: nothing starts before what it waits for ends, streams are FIFO, and the parts
// of a device's time add up.
TEST(Trace, ObeysThePlanAndAddsUp) {
  const Topology topology = topology_of("dgx1-v100");
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const Plan plan = random_plan(seed);
    const Trace trace = sim::simulate(plan, topology).trace;
    for (std::size_t i = 0; i < plan.size(); ++i) {
      const OpTimes& op = trace.ops[i];
      ASSERT_LE(op.ready, op.start);
      ASSERT_LE(op.start, op.end);
      for (const OpId before : plan.predecessors(id_at<OpId>(i))) {
        ASSERT_LE(trace.ops[index_of(before)].end, op.ready);
      }
    }
    for (std::size_t s = 0; s < plan.stream_count(); ++s) {
      const auto ops = plan.stream_ops(id_at<StreamId>(s));
      for (std::size_t i = 1; i < ops.size(); ++i) {
        ASSERT_LE(trace.ops[index_of(ops[i - 1])].end, trace.ops[index_of(ops[i])].ready);
      }
    }
    for (const DeviceUse& use : device_use(plan, trace)) {
      ASSERT_EQ(use.compute + use.exposed + use.host + use.idle, trace.makespan);
      ASSERT_LE(use.exposed, use.communication);
    }
  }
}

TEST(Steps, AreReadFromTheIds) {
  EXPECT_EQ(step_of("step3/backward/layer1@rank0"), 3);
  EXPECT_EQ(step_of("step12/x"), 12);
  EXPECT_FALSE(step_of("step/x"));
  EXPECT_FALSE(step_of("step3"));
  EXPECT_FALSE(step_of("backward@gpu0"));
}

TEST(Steps, LastFromEndToEnd) {
  PlanBuilder builder;
  const StreamId stream = builder.stream(builder.add_device("gpu0"), "compute");
  for (int step = 0; step < 3; ++step) {
    const OpId op = builder.add_compute("step" + std::to_string(step) + "/f", stream, {});
    builder.set_duration(op, microseconds(step + 1));
  }
  const Plan plan = std::move(builder).finish();
  const Trace trace = sim::simulate(plan, topology_of("dgx1-v100")).trace;
  EXPECT_EQ(StepEnds(plan, trace).times(),
            (std::vector<Time>{microseconds(1), microseconds(2), microseconds(3)}));
}

}  // namespace
}  // namespace twinrun
