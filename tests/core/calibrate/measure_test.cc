#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/calibrate/machine_topology.h"
#include "core/calibrate/measure_compute.h"
#include "core/calibrate/measure_messages.h"
#include "core/io/save_topology.h"
#include "sim/simulate.h"
#include "tests/core/topology/topologies_for_tests.h"

// A machine whose numbers are known is simulated in the place of a real one: what is measured on it
// must be what was put in.

namespace twinrun {
namespace {

using testing::ElementsAre;

constexpr double kRate = 100e9;      // FLOP/s of large products
constexpr double kSetUp = 2;         // us of each
constexpr double kStreaming = 12e9;  // bytes/s
constexpr double kLatency = 5e-6;
constexpr double kLink = 4e9;
constexpr double kMoves = 20e9;
constexpr double kWake = 12e-6;

double product_us(double m, double n, double k) { return kSetUp + 2 * m * n * k / kRate * 1e6; }

ProductGrid known_grid(const std::string& pass,
                       std::vector<std::uint32_t> m,
                       std::vector<std::uint32_t> n,
                       std::vector<std::uint32_t> k) {
  ProductGrid grid{pass, Dtype::kFp32, std::move(m), std::move(n), std::move(k), {}, 0};
  for (const std::uint32_t i : grid.m) {
    for (const std::uint32_t j : grid.n) {
      for (const std::uint32_t l : grid.k) {
        grid.us.push_back(product_us(i, j, l));
      }
    }
  }
  return grid;
}

MeasuredMachine known_machine() {
  MeasuredMachine machine;
  machine.source = "made up";
  machine.cores = 2;
  machine.memory = {std::int64_t{8} << 30};
  machine.compute.products = {known_grid("forward", {4, 32}, {16, 64}, {16, 64}),
                              known_grid("input", {4, 32}, {16, 64}, {16, 64}),
                              known_grid("weight", {16, 64}, {16, 64}, {4, 32}),
                              known_grid("", {256}, {256}, {256})};
  machine.compute.streaming = {{"", 1024, {kStreaming}}};
  machine.message = {kLatency, kLink, 0, true, true};
  machine.overlap = {1.2, kMoves};
  machine.wake_s = kWake;
  machine.footprint = {{{6 << 20}, 0, 0}, {{24 << 20}, 48.5, 11.5}};
  return machine;
}

RunPlan simulator_of(const Topology& topology) {
  return [&topology](const Plan& plan) { return sim::simulate(plan, topology).trace; };
}

Topology built(const TopologySpec& spec) {
  Diagnostics diagnostics;
  Topology topology = build_topology(spec, diagnostics);
  EXPECT_EQ(complaints(diagnostics), "");
  return topology;
}

class KnownMachine : public testing::Test {
 protected:
  const Topology topology_ = built(topology_of_threads(known_machine()));
  const RunPlan run_ = simulator_of(topology_);
  const std::vector<std::string> both_ = {"cpu0", "cpu1"};
};

TEST_F(KnownMachine, TellsItsProducts) {
  ProductSizes sizes;
  sizes.widths = {16, 64};
  sizes.samples = {4, 32};
  const ComputeSpeed found = measure_compute(run_, sizes);
  ASSERT_EQ(found.products.size(), 3U);
  const std::vector<ProductGrid> known = known_machine().compute.products;
  for (std::size_t i = 0; i < found.products.size(); ++i) {
    const ProductGrid& grid = found.products[i];
    EXPECT_EQ(grid.pass, known[i].pass);
    EXPECT_EQ(grid.m, known[i].m);
    EXPECT_EQ(grid.n, known[i].n);
    EXPECT_EQ(grid.k, known[i].k);
    ASSERT_EQ(grid.us.size(), known[i].us.size());
    for (std::size_t j = 0; j < grid.us.size(); ++j) {
      EXPECT_NEAR(grid.us[j], known[i].us[j], 0.001) << grid.pass << " " << j;
    }
  }
  EXPECT_EQ(found.spread_pct, 0);
}

TEST_F(KnownMachine, TellsItsStreamingRates) {
  ProductSizes sizes;
  sizes.widths = {16, 64};
  sizes.samples = {4, 32};
  const ComputeSpeed found = measure_compute(run_, sizes);
  std::vector<std::string> kinds;
  for (const StreamingPoint& point : found.streaming) {
    EXPECT_NEAR(point.rate.bytes_per_s, kStreaming, 0.001 * kStreaming) << point.kind;
    if (kinds.empty() || kinds.back() != point.kind) {
      kinds.push_back(point.kind);
    }
  }
  EXPECT_THAT(kinds, ElementsAre("backward", "copy", "forward", "update"));
}

TEST_F(KnownMachine, TellsLatencyAndBandwidth) {
  MessageSizes sizes;
  sizes.between_threads = true;
  const MessageCost cost = fit_message_cost(measure_messages(run_, both_, sizes));
  EXPECT_NEAR(cost.latency_s, kLatency, 0.01 * kLatency);
  EXPECT_NEAR(cost.bytes_per_s, kLink, 0.01 * kLink);
  EXPECT_TRUE(cost.knows_latency);
  EXPECT_TRUE(cost.knows_bandwidth);
}

TEST_F(KnownMachine, TellsHowLongAThreadTakesToWake) {
  EXPECT_NEAR(measure_wake(run_, both_), kWake, 1e-9);
}

// A message at 4 of the 20 GB/s that a core moves takes a fifth of it from the product beside it.
TEST_F(KnownMachine, TellsWhatMessagesCostItsCores) {
  const OverlapCost cost = measure_overlap(run_, both_, known_machine().message);
  EXPECT_NEAR(cost.moved_per_core_s, kMoves, 0.05 * kMoves);
  EXPECT_GT(cost.slowdown, 1.15);
  EXPECT_LT(cost.slowdown, 1.25);
}

TEST(UnsharedCores, CostNothingThatCanBeSeen) {
  TopologySpec spec = topology_of_threads(known_machine());
  spec.cores.clear();
  const Topology topology = built(spec);
  const OverlapCost cost =
      measure_overlap(simulator_of(topology), {"cpu0", "cpu1"}, known_machine().message);
  EXPECT_EQ(cost.slowdown, 1);
  EXPECT_EQ(cost.moved_per_core_s, 0);
}

TEST(MachineTopology, ReadsBackAsItWasWritten) {
  for (const TopologySpec& spec :
       {topology_of_threads(known_machine()), topology_of_hosts(known_machine(), {3, true})}) {
    const std::string text = save_topology(spec);
    Diagnostics diagnostics;
    const TopologySpec again = spec_of_text(text, diagnostics);
    EXPECT_EQ(complaints(diagnostics), "");
    EXPECT_EQ(save_topology(again), text);
    ASSERT_EQ(again.devices.size(), 1U);
    EXPECT_EQ(again.devices[0].products, spec.devices[0].products);
    EXPECT_EQ(again.devices[0].streaming, spec.devices[0].streaming);
    ASSERT_EQ(again.cores.size(), 1U);
    EXPECT_EQ(again.cores[0].footprint, spec.cores[0].footprint);
    built(again);
  }
}

TEST(MachineTopology, HostsOnOneMachineShareItsCores) {
  const Topology apart = built(topology_of_hosts(known_machine(), {3, false}));
  const Topology together = built(topology_of_hosts(known_machine(), {3, true}));
  EXPECT_EQ(apart.core_groups().size(), 3U);
  EXPECT_EQ(together.core_groups().size(), 1U);
}

}  // namespace
}  // namespace twinrun
