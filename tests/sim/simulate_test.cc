#include "sim/simulate.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/base/diagnostics.h"
#include "core/plan/plan_builder.h"
#include "tests/core/topology/topologies_for_tests.h"

namespace twinrun::sim {
namespace {

constexpr double kRate = 12.5e9;
constexpr double kLatency = 1e-6;

Topology switch_of(std::size_t hosts) {
  return topology_of(fmt::format("single-switch:hosts={},bandwidth=12.5GB/s,latency=1us", hosts));
}

std::string host(std::size_t i) { return fmt::format("node{}/cpu0", i); }

struct AllReduce {
  std::size_t ranks = 2;
  std::int64_t bytes = 0;
  std::string algorithm = "ring";
  bool has_successor = false;  // then the engine must go through the network
};

Plan plan_of(const AllReduce& what) {
  PlanBuilder builder("all-reduce");
  std::vector<DeviceId> devices;
  for (std::size_t i = 0; i < what.ranks; ++i) {
    devices.push_back(builder.add_device(host(i)));
  }
  const GroupId group = builder.add_group("all", devices);
  OpId last{};
  for (std::size_t i = 0; i < what.ranks; ++i) {
    last = builder.add_collective(fmt::format("sum@{}", i), builder.stream(devices[i], "comm"),
                                  {.kind = CollectiveKind::kAllReduce,
                                   .group = group,
                                   .bytes = {what.bytes},
                                   .algorithm = what.algorithm});
  }
  if (what.has_successor) {
    builder.depend(builder.add_marker("after", builder.stream(devices[0], "host")), last);
  }
  return std::move(builder).finish();
}

double seconds(const Simulation& run) { return to_seconds(run.trace.makespan); }

// ---- collectives, against closed forms ----

// 2 (N - 1) steps, each of two latencies and the largest chunk.
TEST(Simulate, AStepwiseRingTakesItsClosedForm) {
  constexpr std::int64_t kBytes = 100'000'000;
  for (const std::size_t ranks : {2U, 3U, 8U, 33U, 64U}) {
    const auto n = static_cast<double>(ranks);
    const auto chunk = static_cast<double>((kBytes / 4 + static_cast<std::int64_t>(ranks) - 1) /
                                           static_cast<std::int64_t>(ranks) * 4);
    const double expected = 2 * (n - 1) * (2 * kLatency + chunk / kRate);
    for (const bool through_network : {false, true}) {
      const Plan plan = plan_of({ranks, kBytes, "ring", through_network});
      const Simulation run = simulate(plan, switch_of(ranks), {.fidelity = Fidelity::kStepwise});
      EXPECT_NEAR(seconds(run) / expected, 1, 1e-9) << ranks << through_network;
      EXPECT_EQ(run.engine.uncontended, through_network ? 0U : 1U);
      EXPECT_EQ(run.engine.transfers, 2 * ranks * (ranks - 1));
    }
  }
}

// Every link carries 2 (N - 1) / N of the bytes, after 2 (N - 1) steps of latency.
TEST(Simulate, APipelinedRingTakesLatencyThenItsShareOfTheBytes) {
  for (const std::size_t ranks : {2U, 4U, 8U, 50U}) {
    const auto n = static_cast<double>(ranks);
    const std::int64_t bytes = 400'000 * static_cast<std::int64_t>(ranks);
    const Simulation run = simulate(plan_of({ranks, bytes, "ring"}), switch_of(ranks),
                                    {.fidelity = Fidelity::kPipelined});
    const double expected =
        2 * (n - 1) * 2 * kLatency + 2 * (n - 1) / n * static_cast<double>(bytes) / kRate;
    EXPECT_NEAR(seconds(run) / expected, 1, 1e-9) << ranks;
  }
}

// PSe of the peer baselines: 2 (2 lat + N S / bw), the server in a place of its own.
TEST(Simulate, AParameterServerTakesItsClosedForm) {
  for (const std::size_t workers : {1U, 8U, 64U}) {
    constexpr std::int64_t kBytes = 100'000'000;
    const Topology topology = switch_of(workers + 1);
    SimulationOptions options{.fidelity = Fidelity::kStepwise};
    options.servers = {*topology.find(host(workers))};
    const Simulation run = simulate(plan_of({workers, kBytes, "ps"}), topology, options);
    const double expected =
        workers == 1 ? 0 : 2 * (2 * kLatency + static_cast<double>(workers) * kBytes / kRate);
    EXPECT_NEAR(seconds(run), expected, 1e-9 * expected) << workers;
  }
}

TEST(Simulate, NoBytesOrOneRankTakeNoTime) {
  EXPECT_EQ(simulate(plan_of({4, 0, "ring"}), switch_of(4)).trace.makespan, Time{});
  EXPECT_EQ(simulate(plan_of({1, 1000, "ring"}), switch_of(1)).trace.makespan, Time{});
}

TEST(Simulate, ConcurrentCollectivesShareTheirLinks) {
  const Topology topology = switch_of(4);
  for (const Fidelity fidelity : {Fidelity::kStepwise, Fidelity::kPipelined}) {
    PlanBuilder builder;
    std::vector<DeviceId> devices;
    for (std::size_t i = 0; i < 4; ++i) {
      devices.push_back(builder.add_device(host(i)));
    }
    const GroupId group = builder.add_group("all", devices);
    for (const std::string name : {"a", "b"}) {
      for (std::size_t i = 0; i < 4; ++i) {
        builder.add_collective(fmt::format("{}@{}", name, i), builder.stream(devices[i], name),
                               {.group = group, .bytes = {400'000'000}, .algorithm = "ring"});
      }
    }
    const Simulation run = simulate(std::move(builder).finish(), topology, {.fidelity = fidelity});
    // Six steps of latency; the links carry 3/2 of the bytes of each of the two.
    EXPECT_NEAR(seconds(run), 6 * 2e-6 + 2 * 1.5 * 4e8 / kRate, 1e-9);
  }
}

// ---- NCCL ----

Plan reductions_at_once(std::size_t count) {
  PlanBuilder builder;
  std::vector<DeviceId> devices;
  for (std::size_t i = 0; i < 8; ++i) {
    devices.push_back(builder.add_device(fmt::format("gpu{}", i)));
  }
  const GroupId group = builder.add_group("all", devices);
  for (std::size_t c = 0; c < count; ++c) {
    for (std::size_t i = 0; i < 8; ++i) {
      builder.add_collective(fmt::format("sum{}@{}", c, i),
                             builder.stream(devices[i], fmt::format("comm{}", c)),
                             {.group = group, .bytes = {1 << 28}});
    }
  }
  return std::move(builder).finish();
}

// One alone takes what the model says; two share the links of their rings, but not their latency.
TEST(Nccl, TwoAtOnceShareTheLinks) {
  const Topology topology = topology_of("dgx1-v100");
  NcclPlanner planner(topology);
  const std::vector<VertexId> ranks = topology.compute_devices();
  const auto& plan = std::get<NcclPlan>(planner.plan(ranks));
  const auto choice = plan.prediction.predict(CollectiveKind::kAllReduce, {1 << 28});
  ASSERT_TRUE(choice);
  const double alone = seconds(simulate(reductions_at_once(1), topology));
  EXPECT_NEAR(alone, choice->time_us * 1e-6, 1e-9);
  const double both = seconds(simulate(reductions_at_once(2), topology));
  EXPECT_GT(both, 1.95 * alone);
  EXPECT_LE(both, 2 * alone);
}

// ---- ops ----

class TwoHosts : public testing::Test {
 protected:
  PlanBuilder builder_{"two hosts"};
  std::optional<Plan> plan_;
  DeviceId a_ = builder_.add_device(host(0));
  DeviceId b_ = builder_.add_device(host(1));
  Topology topology_ = switch_of(2);

  OpId work(const std::string& id, StreamId stream, Time time) {
    const OpId op = builder_.add_compute(id, stream, {});
    builder_.set_duration(op, time);
    return op;
  }
  Simulation run(const SimulationOptions& options = {}) {
    plan_.emplace(std::move(builder_).finish());
    return simulate(*plan_, topology_, options);
  }
};

TEST_F(TwoHosts, StreamsAreFifoAndDependenciesHold) {
  const StreamId compute = builder_.stream(a_, "compute");
  const OpId first = work("first", compute, microseconds(3));
  const OpId second = work("second", compute, microseconds(4));
  const OpId other = work("other", builder_.stream(b_, "compute"), microseconds(1));
  builder_.depend(other, second);
  const Trace trace = run().trace;
  EXPECT_EQ(trace.ops[index_of(first)], (OpTimes{{}, {}, microseconds(3)}));
  EXPECT_EQ(trace.ops[index_of(second)],
            (OpTimes{microseconds(3), microseconds(3), microseconds(7)}));
  EXPECT_EQ(trace.ops[index_of(other)],
            (OpTimes{microseconds(7), microseconds(7), microseconds(8)}));
}

TEST_F(TwoHosts, CommunicationAloneWaitsForNeitherComputeNorHost) {
  const OpId read = builder_.add_host("read", builder_.stream(a_, "host"), microseconds(5));
  const OpId compute = work("compute", builder_.stream(a_, "compute"), microseconds(3));
  builder_.depend(compute, read);
  EXPECT_EQ(run({.compute_scale = 0}).trace.makespan, Time{});
}

// Two at once go half as fast: the short one needs 2 · 2 us, the long one the rest alone.
TEST_F(TwoHosts, KernelsOfTwoStreamsShareTheDevice) {
  const OpId brief = work("brief", builder_.stream(a_, "one"), microseconds(2));
  const OpId longer = work("longer", builder_.stream(a_, "two"), microseconds(5));
  const Trace trace = run().trace;
  EXPECT_EQ(trace.ops[index_of(brief)].end, microseconds(4));
  EXPECT_EQ(trace.ops[index_of(longer)].end, microseconds(7));
}

// Four devices of a machine with two cores: each kernel runs at half speed.
TEST(Simulate, CpuDevicesShareTheCoresOfTheirMachine) {
  PlanBuilder builder;
  for (int i = 0; i < 4; ++i) {
    const DeviceId device = builder.add_device(fmt::format("cpu{}", i));
    const OpId op = builder.add_compute(fmt::format("work@{}", i), builder.stream(device, "c"), {});
    builder.set_duration(op, microseconds(6));
  }
  const Plan plan = std::move(builder).finish();
  const Topology topology = topology_of("cpu:devices=4");
  EXPECT_EQ(simulate(plan, topology).trace.makespan, microseconds(6));
  SimulationOptions two_cores;
  two_cores.cores_per_node = 2;
  EXPECT_EQ(simulate(plan, topology, two_cores).trace.makespan, microseconds(12));
}

TEST_F(TwoHosts, AMessageGoesWhenBothAreThere) {
  const OpId late = work("late", builder_.stream(b_, "compute"), microseconds(10));
  const OpId send =
      builder_.add_send("send", builder_.stream(a_, "comm"), {.peer = b_, .bytes = {125'000}});
  const OpId receive =
      builder_.add_recv("recv", builder_.stream(b_, "comm"), {.peer = a_, .bytes = {125'000}});
  builder_.depend(receive, late);
  const Trace trace = run().trace;
  const Time end = microseconds(10 + 2 + 10);
  EXPECT_EQ(trace.ops[index_of(send)], (OpTimes{{}, microseconds(10), end}));
  EXPECT_EQ(trace.ops[index_of(receive)], (OpTimes{microseconds(10), microseconds(10), end}));
}

// Two of 10 us over wires of 2 us: the second is on its way while the first arrives.
TEST_F(TwoHosts, MessagesInARowWaitForTheWireOnce) {
  const auto message = [&](const std::string& name) {
    builder_.add_send(name + "-out", builder_.stream(a_, "out"), {.peer = b_, .bytes = {125'000}});
    builder_.add_recv(name + "-in", builder_.stream(b_, "in"), {.peer = a_, .bytes = {125'000}});
  };
  message("first");
  message("second");
  message("third");
  EXPECT_EQ(run().trace.makespan, microseconds(2 + 3 * 10));
}

// The data of the second come 11 us after the start: one of its two microseconds is hidden.
TEST_F(TwoHosts, AMessageWhoseDataComeLateWaitsForTheRest) {
  const OpId late = work("late", builder_.stream(a_, "compute"), microseconds(11));
  builder_.add_send("0-out", builder_.stream(a_, "out"), {.peer = b_, .bytes = {125'000}});
  builder_.add_recv("0-in", builder_.stream(b_, "in"), {.peer = a_, .bytes = {125'000}});
  const OpId second =
      builder_.add_send("1-out", builder_.stream(a_, "out"), {.peer = b_, .bytes = {125'000}});
  builder_.add_recv("1-in", builder_.stream(b_, "in"), {.peer = a_, .bytes = {125'000}});
  builder_.depend(second, late);
  EXPECT_EQ(run().trace.makespan, microseconds(12 + 1 + 10));
}

TEST_F(TwoHosts, CopiesInBothDirectionsDoNotShareAFullDuplexLink) {
  builder_.add_copy("there", builder_.stream(a_, "copy"), b_, {125'000});
  builder_.add_copy("back", builder_.stream(b_, "copy"), a_, {125'000});
  EXPECT_EQ(run().trace.makespan, microseconds(12));
}

TEST_F(TwoHosts, WhatTakesNoTimeHappensInOneInstant) {
  const StreamId host_stream = builder_.stream(a_, "host");
  OpId last = builder_.add_marker("m0", host_stream);
  for (int i = 1; i < 1000; ++i) {
    last = builder_.add_marker(fmt::format("m{}", i), host_stream);
  }
  const Simulation simulation = run();
  EXPECT_EQ(simulation.trace.ops[index_of(last)].end, Time{});
  EXPECT_EQ(simulation.engine.events, 1000U);
}

TEST_F(TwoHosts, AStragglerMakesTheOthersWait) {
  const GroupId group = builder_.add_group("both", std::vector<DeviceId>{a_, b_});
  for (const DeviceId device : {a_, b_}) {
    const std::string name = device == a_ ? "a" : "b";
    const OpId compute = work("work@" + name, builder_.stream(device, "compute"), microseconds(10));
    const OpId sum =
        builder_.add_collective("sum@" + name, builder_.stream(device, "comm"),
                                {.group = group, .bytes = {25'000}, .algorithm = "ring"});
    builder_.depend(sum, compute);
  }
  SimulationOptions options;
  options.slowdown[host(1)] = 1.5;
  // 15 us until the slow one is there; two steps of 2 us and 12,500 bytes.
  EXPECT_EQ(run(options).trace.makespan, microseconds(15 + 2 * 3));
}

// The reduction takes 24 us, in which compute gets three quarters: 18 of its 60 us, then the rest.
TEST_F(TwoHosts, ARunningCollectiveTakesItsShareOfTheProcessor) {
  const GroupId group = builder_.add_group("both", std::vector<DeviceId>{a_, b_});
  work("work", builder_.stream(a_, "compute"), microseconds(60));
  for (const DeviceId device : {a_, b_}) {
    builder_.add_collective(device == a_ ? "sum@a" : "sum@b", builder_.stream(device, "comm"),
                            {.group = group, .bytes = {250'000}, .algorithm = "ring"});
  }
  SimulationOptions options;
  options.communication_share = 0.25;
  EXPECT_EQ(run(options).trace.makespan, microseconds(24 + (60 - 18)));
}

TEST_F(TwoHosts, MemoryPeaksWhereTheMostIsHeld) {
  const StreamId compute = builder_.stream(a_, "compute");
  const OpId forward = work("forward", compute, microseconds(1));
  const OpId backward = work("backward", compute, microseconds(1));
  builder_.add_memory_effect(forward, {MemoryPart::kActivations, {100}, MemoryWhen::kStart});
  builder_.add_memory_effect(backward, {MemoryPart::kGradients, {70}, MemoryWhen::kStart});
  builder_.add_memory_effect(backward, {MemoryPart::kActivations, {-100}, MemoryWhen::kEnd});
  const Simulation simulation = run();
  ASSERT_EQ(simulation.memory.size(), 2U);
  EXPECT_EQ(simulation.memory[0].peak, Bytes{170});
  EXPECT_EQ(simulation.memory[0].at_op, backward);
  EXPECT_EQ(simulation.memory[0].at, microseconds(1));
  EXPECT_EQ(simulation.memory[0].parts[static_cast<std::size_t>(MemoryPart::kActivations)],
            Bytes{100});
  EXPECT_EQ(simulation.memory[1].peak, Bytes{0});
}

TEST_F(TwoHosts, ADeviceThatIsNotThereIsNamed) {
  const DeviceId gone = builder_.add_device("node7/cpu0");
  work("lost", builder_.stream(gone, "compute"), microseconds(1));
  try {
    run();
    FAIL() << "ran";
  } catch (const CannotRun& error) {
    EXPECT_NE(std::string(error.what()).find("node7/cpu0"), std::string::npos) << error.what();
  }
}

// validate() refuses such a plan; whoever skips it gets an answer, not a hang.
TEST_F(TwoHosts, WhatCanNeverStartIsNamed) {
  const StreamId compute = builder_.stream(a_, "compute");
  const OpId first = work("first", compute, microseconds(1));
  const OpId second = work("second", compute, microseconds(1));
  builder_.depend(first, second);
  try {
    run();
    FAIL() << "ran";
  } catch (const CannotRun& error) {
    const std::string said = error.what();
    EXPECT_NE(said.find("2 of 2 ops have not ended"), std::string::npos) << said;
    EXPECT_NE(said.find("first waits for what comes before it"), std::string::npos) << said;
  }
}

TEST(Simulate, TheSameInputGivesTheSameTrace) {
  const Plan plan = plan_of({9, 1'000'000, "halving-doubling", true});
  const Topology topology = switch_of(9);
  const SimulationOptions options{.noise = {Jitter::kLognormal, 0.1, 7}};
  EXPECT_EQ(simulate(plan, topology, options).trace.ops,
            simulate(plan, topology, options).trace.ops);
}

// 2^57 bytes over 12.5 GB/s are 133 days; the clock holds 106.
TEST(Simulate, WhatTheClockCannotHoldIsSaid) {
  for (const Fidelity fidelity : {Fidelity::kStepwise, Fidelity::kPipelined}) {
    for (const bool through_network : {false, true}) {
      try {
        simulate(plan_of({2, std::int64_t{1} << 57, "ring", through_network}), switch_of(2),
                 {.fidelity = fidelity});
        FAIL() << "ran";
      } catch (const CannotRun& error) {
        EXPECT_NE(std::string(error.what()).find("longer than"), std::string::npos);
      }
    }
  }
}

}  // namespace
}  // namespace twinrun::sim
