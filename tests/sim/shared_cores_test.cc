#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/plan/plan_builder.h"
#include "sim/simulate.h"
#include "tests/core/topology/topologies_for_tests.h"

namespace twinrun::sim {
namespace {

// Machines of four CPU devices each, which reach each other at 4 GB/s after 1 us.
std::string machine(const std::string& cores, int nodes = 1) {
  return fmt::format(
      R"({{"devices": {{"core": {{"kind": "cpu"}}}},
          "templates": {{"m": {{"parts": [{{"name": "cpu", "count": 4, "device": "core"}}],
            "links": [{{"from": "cpu*", "to": "cpu*", "kind": "socket", "bandwidth": "4GB/s",
                        "latency": "1us"}}]}}}},
          "nodes": {{"m": {}}}, "fabric": {{"kind": "single-switch", "bandwidth": "1GB/s"}},
          "cores": [{}]}})",
      nodes, cores);
}

const std::string kTwoCores = R"({"vertices": "node*/cpu*", "count": 2, "moves": "8GB/s"})";

class OnSharedCores : public testing::Test {
 protected:
  OpId compute(int device, double us, const std::string& name = "work") {
    const DeviceId on = builder_.add_device(fmt::format("cpu{}", device));
    const OpId op = builder_.add_compute(fmt::format("{}@cpu{}", name, device),
                                         builder_.stream(on, "compute"), {});
    builder_.set_duration(op, microseconds(us));
    return op;
  }
  struct Message {
    OpId send{};
    OpId receive{};
  };
  Message add_message(int from, int to, std::int64_t bytes) {
    const DeviceId a = builder_.add_device(fmt::format("cpu{}", from));
    const DeviceId b = builder_.add_device(fmt::format("cpu{}", to));
    const std::string name = fmt::format("m{}-{}", from, to);
    const OpId send = builder_.add_send(name + "/send", builder_.stream(a, name), {b, {bytes}});
    return {send, builder_.add_recv(name + "/recv", builder_.stream(b, name), {a, {bytes}})};
  }
  // The op of the receiver.
  OpId message(int from, int to, std::int64_t bytes) {
    return add_message(from, to, bytes).receive;
  }
  Trace run(const std::string& cores, const SimulationOptions& options = {}) {
    const Topology topology = topology_of_text(machine(cores));
    const Plan plan = std::move(builder_).finish();
    return simulate(plan, topology, options).trace;
  }
  static double end_us(const Trace& trace, OpId op) {
    return to_microseconds(trace.ops[index_of(op)].end);
  }

  PlanBuilder builder_;
};

TEST_F(OnSharedCores, AsManyAsThereAreCoresTakeTheirOwnTime) {
  const OpId a = compute(0, 6);
  const OpId b = compute(3, 4);
  const Trace trace = run(kTwoCores);
  EXPECT_NEAR(end_us(trace, a), 6, 1e-3);
  EXPECT_NEAR(end_us(trace, b), 4, 1e-3);
}

// Three tasks of 6 us on two cores: two thirds of a core each, 9 us.
TEST_F(OnSharedCores, MoreTasksThanCoresShareThemFairly) {
  const std::vector<OpId> all = {compute(0, 6), compute(1, 6), compute(2, 6)};
  const Trace trace = run(kTwoCores);
  for (const OpId op : all) {
    EXPECT_NEAR(end_us(trace, op), 9, 1e-3);
  }
}

// Two streams of one device are two tasks: with cores to spare neither waits.
TEST_F(OnSharedCores, TwoStreamsOfADeviceAreTwoTasks) {
  const OpId a = compute(0, 5);
  const DeviceId device = builder_.add_device("cpu0");
  const OpId b = builder_.add_compute("other@cpu0", builder_.stream(device, "second"), {});
  builder_.set_duration(b, microseconds(5));
  const Trace trace = run(kTwoCores);
  EXPECT_NEAR(end_us(trace, a), 5, 1e-3);
  EXPECT_NEAR(end_us(trace, b), 5, 1e-3);
}

// At 4 GB/s a message takes half a core of 8 GB/s. Beside two tasks of 10 us on two cores there is
// a fair share of two thirds for each, more than it asks for: it takes its 1 + 10 us, and the tasks
// share the other one and a half cores: (10 − 1) / 0.75 + 1 = 13 us; but from 11 us on they have
// two again.
TEST_F(OnSharedCores, MovingBytesTakesCoresFromThoseThatCompute) {
  const OpId a = compute(0, 10);
  const OpId b = compute(1, 10);
  const OpId moved = message(2, 3, 40'000);
  const Trace trace = run(kTwoCores);
  EXPECT_NEAR(end_us(trace, moved), 11, 1e-2);
  const double left_at_11 = 10 - 1 - 10 * 0.75;
  EXPECT_NEAR(end_us(trace, a), 11 + left_at_11, 1e-2);
  EXPECT_NEAR(end_us(trace, b), 11 + left_at_11, 1e-2);
}

// With one core of 4 GB/s a message and a task have half of it each.
TEST_F(OnSharedCores, AMessageWaitsForACoreToo) {
  const OpId a = compute(0, 50);
  const OpId moved = message(2, 3, 40'000);
  const Trace trace = run(R"({"vertices": "cpu*", "count": 1, "moves": "4GB/s"})");
  EXPECT_NEAR(end_us(trace, moved), 1 + 20, 1e-2);
  EXPECT_NEAR(end_us(trace, a), 60, 1e-2);
}

// Both ends: a message takes the one core twice, and has half of what it could have.
TEST_F(OnSharedCores, AMessageMayCostBothItsEnds) {
  const OpId moved = message(2, 3, 40'000);
  const Trace trace =
      run(R"({"vertices": "cpu*", "count": 1, "moves": "4GB/s", "moved_by": "both"})");
  EXPECT_NEAR(end_us(trace, moved), 1 + 20, 1e-2);
}

TEST_F(OnSharedCores, DevicesThatAreNotNamedHaveTheirOwn) {
  const OpId a = compute(0, 6);
  const OpId b = compute(1, 6);
  const OpId c = compute(3, 6);
  const Trace trace = run(R"({"vertices": "cpu[0-1]", "count": 1, "moves": "8GB/s"})");
  EXPECT_NEAR(end_us(trace, a), 12, 1e-3);
  EXPECT_NEAR(end_us(trace, b), 12, 1e-3);
  EXPECT_NEAR(end_us(trace, c), 6, 1e-3);
}

const std::string kSleepy = R"({"vertices": "cpu*", "count": 4, "moves": "8GB/s", "wake": "3us"})";

// Waits for another stream: 6 us, and 3 until it is awake. Its own stream's next needs no waking.
TEST_F(OnSharedCores, AStreamThatWaitedForAnotherHasToWake) {
  const OpId first = compute(0, 6, "first");
  const OpId waits = compute(1, 5, "waits");
  const OpId next = compute(1, 1, "next");
  builder_.depend(waits, first);
  const Trace trace = run(kSleepy);
  EXPECT_NEAR(end_us(trace, waits), 6 + 3 + 5, 1e-3);
  EXPECT_NEAR(end_us(trace, next), 6 + 3 + 5 + 1, 1e-3);
}

TEST_F(OnSharedCores, AStreamThatWasBusyMeanwhileIsAwake) {
  const OpId first = compute(0, 6, "first");
  compute(1, 10, "busy");
  const OpId after = compute(1, 5, "after");
  builder_.depend(after, first);
  EXPECT_NEAR(end_us(run(kSleepy), after), 15, 1e-3);
}

// The sender is there 6 us and its own waking later than the receiver, which sleeps: 3 us, then 1
// us and 40 kB at 4 GB/s; then the sender has slept.
TEST_F(OnSharedCores, AReceiverThatCameFirstHasToWakeAndThenTheSender) {
  const OpId first = compute(0, 6, "first");
  const Message message = add_message(2, 3, 40'000);
  builder_.depend(message.send, first);
  const Trace trace = run(kSleepy);
  EXPECT_NEAR(end_us(trace, message.receive), 6 + 3 + 3 + 1 + 10, 1e-2);
  EXPECT_NEAR(end_us(trace, message.send), 6 + 3 + 3 + 1 + 10 + 3, 1e-2);
}

TEST_F(OnSharedCores, AReceiverThatComesLastTakesItAtOnceAndWakesTheSender) {
  const OpId first = compute(0, 6, "first");
  const Message message = add_message(2, 3, 40'000);
  builder_.depend(message.receive, first);
  const Trace trace = run(kSleepy);
  EXPECT_NEAR(end_us(trace, message.receive), 6 + 3 + 1 + 10, 1e-2);
  EXPECT_NEAR(end_us(trace, message.send), 6 + 3 + 1 + 10 + 3, 1e-2);
}

// A ring of two, w = 3 us to wake, x = 1 + 5 us for each half. Both begin at w. Rank 1, which comes
// second, takes what rank 0 has (x) and wakes it; rank 0 takes the other (w + x) and wakes rank 1
// in turn, which is in the second step another w later, where the same happens again: 4 w + 2 x and
// 5 w + 2 x.
TEST_F(OnSharedCores, RanksOfARingWakeEachOtherInEveryStep) {
  const std::vector<DeviceId> devices = {builder_.add_device("cpu0"), builder_.add_device("cpu1")};
  const GroupId both = builder_.add_group("both", devices);
  std::vector<OpId> sums;
  for (const DeviceId device : devices) {
    sums.push_back(builder_.add_collective(
        fmt::format("sum@cpu{}", index_of(device)), builder_.stream(device, "c"),
        {.group = both, .bytes = {40'000}, .algorithm = "ring"}));
  }
  const Trace trace = run(kSleepy);
  EXPECT_NEAR(end_us(trace, sums[0]), 4 * 3 + 2 * 6, 1e-2);
  EXPECT_NEAR(end_us(trace, sums[1]), 5 * 3 + 2 * 6, 1e-2);
}

// Two devices of 3 MiB each: 6 MiB together cost 40 ps a byte where 3 MiB alone cost nothing.
TEST_F(OnSharedCores, WhatTheCachesDoNotHoldTakesLonger) {
  const auto passes = [](PlanBuilder& builder, int device) {
    const DeviceId on = builder.add_device(fmt::format("cpu{}", device));
    const OpId op = builder.add_compute(fmt::format("pass@cpu{}", device),
                                        builder.stream(on, "compute"), {.bytes = {1'000'000}});
    builder.add_memory_effect(op, {MemoryPart::kParameters, Bytes{3 << 20}, MemoryWhen::kStart});
    return op;
  };
  const Topology topology = topology_of_text(
      R"({"devices": {"core": {"kind": "cpu", "streaming": [{"bytes": 1, "rate": "10GB/s"}]}},
          "templates": {"m": {"parts": [{"name": "cpu", "count": 4, "device": "core"}],
            "links": [{"from": "cpu*", "to": "cpu*", "kind": "socket", "bandwidth": "4GB/s"}]}},
          "nodes": {"m": 1},
          "cores": [{"vertices": "cpu*", "count": 4, "moves": "8GB/s",
                     "footprint": [{"bytes": "3MiB"}, {"bytes": "6MiB", "pass_ps_per_byte": 40}]}]})");
  PlanBuilder alone;
  const OpId one = passes(alone, 0);
  EXPECT_NEAR(end_us(simulate(std::move(alone).finish(), topology).trace, one), 100, 1e-3);
  PlanBuilder two;
  const OpId beside = passes(two, 0);
  passes(two, 1);
  EXPECT_NEAR(end_us(simulate(std::move(two).finish(), topology).trace, beside), 140, 1e-3);
}

TEST_F(OnSharedCores, TheCountOfTheRunWinsOverTheTopologys) {
  const OpId a = compute(0, 6);
  compute(1, 6);
  SimulationOptions one_core;
  one_core.cores_per_node = 1;
  EXPECT_NEAR(end_us(run(kTwoCores, one_core), a), 12, 1e-3);
}

// A sum over a ring of two, 40 kB each way in two steps of 20 kB: 2 · (1 + 5) us on free cores. On
// one core of 8 GB/s both directions' 4 GB/s just fit; of 4 GB/s each has half.
TEST(SharedCores, CollectivesAreMovedByCoresToo) {
  const auto makespan_us = [](const std::string& moves) {
    PlanBuilder builder;
    const std::vector<DeviceId> devices = {builder.add_device("cpu0"), builder.add_device("cpu1")};
    const GroupId both = builder.add_group("both", devices);
    for (const DeviceId device : devices) {
      builder.add_collective(fmt::format("sum@cpu{}", index_of(device)),
                             builder.stream(device, "c"),
                             {.group = both, .bytes = {40'000}, .algorithm = "ring"});
    }
    const Topology topology = topology_of_text(
        machine(fmt::format(R"({{"vertices": "cpu*", "count": 1, "moves": "{}"}})", moves)));
    const Plan plan = std::move(builder).finish();
    return to_microseconds(simulate(plan, topology).trace.makespan);
  };
  EXPECT_NEAR(makespan_us("8GB/s"), 12, 1e-2);
  EXPECT_NEAR(makespan_us("4GB/s"), 22, 1e-2);
}

TEST(SharedCores, OfEachMachineOrOfAllTogether) {
  const auto groups = [](const std::string& sharing) {
    return topology_of_text(
               machine(fmt::format(R"({{"vertices": "node*/cpu*", "count": 2, "moves": "8GB/s",
                                        "sharing": "{}"}})",
                                   sharing),
                       3))
        .core_groups()
        .size();
  };
  EXPECT_EQ(groups("machine"), 3U);
  EXPECT_EQ(groups("all"), 1U);
}

TEST(SharedCores, AreRefusedToWhatIsNoCpuAndTwice) {
  Diagnostics diagnostics;
  const TopologySpec twice = spec_of_text(machine(kTwoCores + ", " + kTwoCores), diagnostics);
  build_topology(twice, diagnostics);
  EXPECT_EQ(complaints(diagnostics), "E0336 /cores/1: cpu0 shares cores with others already\n");
  Diagnostics of_switch;
  build_topology(
      spec_of_text(machine(R"({"vertices": "switch0", "count": 2, "moves": 1})", 2), of_switch),
      of_switch);
  EXPECT_EQ(complaints(of_switch).substr(0, 6), "E0335 ");
}

}  // namespace
}  // namespace twinrun::sim
