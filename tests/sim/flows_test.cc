#include "sim/flows.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/core/topology/topologies_for_tests.h"
#include "tests/sim/parameter_server.h"
#include "tests/sim/random_flows.h"

namespace twinrun::sim {
namespace {

struct Expected {
  std::size_t count;
  Sizes sizes;
  std::size_t window;
  double makespan_s;
  double mean_s;
};

class FatTreeFlows : public testing::TestWithParam<Expected> {};

// SimGrid 3.32 and an independent progressive filling agree on these to every digit.
TEST_P(FatTreeFlows, TakeAsLongAsSimGridSays) {
  const Expected& expected = GetParam();
  const Topology topology = topology_of(kFatTree);
  const FlowResults results = simulate_flows(
      topology, random_flows(topology, expected.count, expected.sizes), expected.window);
  EXPECT_NEAR(to_seconds(results.makespan), expected.makespan_s, 0.5e-9);
  EXPECT_NEAR(results.mean_completion_s, expected.mean_s, 0.5e-9);
}

INSTANTIATE_TEST_SUITE_P(
    PeerBaselines,
    FatTreeFlows,
    testing::Values(Expected{1'000, Sizes::kUniform, 0, 0.030792765, 0.009416044},
                    Expected{2'000, Sizes::kUniform, 0, 0.038099898, 0.012801909},
                    Expected{5'000, Sizes::kUniform, 0, 0.059985544, 0.022206956},
                    Expected{10'000, Sizes::kUniform, 0, 0.101018616, 0.036566268},
                    Expected{10'000, Sizes::kEqual, 0, 0.016800000, 0.010103384},
                    Expected{3'000, Sizes::kUniform, 256, 0.086037162, 0.039816592},
                    Expected{10'000, Sizes::kUniform, 1024, 0.126990349, 0.058251302}));

// ---- one switch ----

Topology switch_of(std::size_t hosts) {
  return topology_of("single-switch:hosts=" + std::to_string(hosts) +
                     ",bandwidth=12.5GB/s,latency=1us");
}

constexpr double kRate = 12.5e9;
constexpr double kLatency = 1e-6;

TEST(Flows, OneFlowPaysItsLatencyFirst) {
  const Topology topology = switch_of(2);
  const std::vector<VertexId> hosts = topology.compute_devices();
  const std::vector<FlowRequest> requests = {{{5'000'000}, hosts[0], hosts[1], {100'000'000}}};
  const FlowResults results = simulate_flows(topology, requests);
  EXPECT_EQ(results.flows[0].start.ps, 5'000'000);
  EXPECT_EQ(results.makespan.ps, 5'000'000 + 2'000'000 + 8'000'000'000);
}

TEST(Flows, ToItselfOrWithoutBytesTakesNoBandwidth) {
  const Topology topology = switch_of(2);
  const std::vector<VertexId> hosts = topology.compute_devices();
  const std::vector<FlowRequest> requests = {{{3}, hosts[0], hosts[0], {100'000'000}},
                                             {{3}, hosts[0], hosts[1], {0}},
                                             {{0}, hosts[0], hosts[1], {12'500}}};
  const FlowResults results = simulate_flows(topology, requests);
  EXPECT_EQ(results.flows[0].end.ps, 3);
  EXPECT_EQ(results.flows[1].end.ps, 2'000'003);
  EXPECT_EQ(results.flows[2].end.ps, 3'000'000);
}

TEST(Flows, NoneTakeNoTime) {
  const FlowResults results = simulate_flows(switch_of(2), {});
  EXPECT_EQ(results.makespan.ps, 0);
  EXPECT_EQ(results.mean_completion_s, 0);
}

TEST(Flows, AWindowStartsTheNextWhenOneEnds) {
  const Topology topology = topology_of("single-switch:hosts=4,bandwidth=1GB/s,latency=0");
  const std::vector<VertexId> hosts = topology.compute_devices();
  const std::vector<FlowRequest> requests = {{{}, hosts[0], hosts[1], {1000}},
                                             {{}, hosts[2], hosts[3], {3000}},
                                             {{}, hosts[0], hosts[3], {1000}}};
  const FlowResults results = simulate_flows(topology, requests, 2);
  // 1 us alone each; then the second and third share the way into host 3, the second with 2000
  // bytes left: 1000 more until 3 us, the last 1000 alone.
  EXPECT_EQ(results.flows[0].end.ps, 1'000'000);
  EXPECT_EQ(results.flows[2].start.ps, 1'000'000);
  EXPECT_EQ(results.flows[2].end.ps, 3'000'000);
  EXPECT_EQ(results.flows[1].end.ps, 4'000'000);
}

TEST(Flows, NearAndFarFlowsShareAlike) {
  const Topology topology =
      topology_of("fat-tree:hosts=16,ports=4,levels=3,bandwidth=1GB/s,latency=1us");
  const std::vector<VertexId> hosts = topology.compute_devices();
  const std::vector<FlowRequest> requests = {{{4'000'000}, hosts[1], hosts[0], {1'000'000}},
                                             {{}, hosts[15], hosts[0], {1'000'000}}};
  const FlowResults results = simulate_flows(topology, requests);  // latencies 2 us and 6 us
  EXPECT_EQ(results.flows[0].end.ps, 2'006'000'000);
  EXPECT_EQ(results.flows[1].end.ps, 2'006'000'000);
}

TEST(Flows, NotConnectedIsRefused) {
  Diagnostics diagnostics;
  const TopologySpec spec = spec_of_text(R"({
      "templates": {"m": {"parts": [{"name": "gpu", "kind": "gpu"}]}},
      "nodes": {"m": 2}})",
                                         diagnostics);
  const Topology topology = build_topology(spec, diagnostics);
  ASSERT_FALSE(diagnostics.has_errors()) << complaints(diagnostics);
  const std::vector<FlowRequest> requests = {
      {{}, topology.compute_devices()[0], topology.compute_devices()[1], {1}}};
  EXPECT_THROW(simulate_flows(topology, requests), CannotRun);
}

class ParameterServer : public testing::TestWithParam<std::uint32_t> {};

TEST_P(ParameterServer, EqualSharesEndTogether) {
  const std::uint32_t n = GetParam();
  const double expected = 2 * (2 * kLatency + n * 100e6 / kRate);
  const Time end = run_equal_parameter_server(switch_of(n + 1), n);
  EXPECT_NEAR(to_seconds(end), expected, 1e-9 * expected);
}

TEST_P(ParameterServer, SpreadSharesKeepTheWayBackBusy) {
  const std::uint32_t n = GetParam();
  double total = 0;
  for (const std::int64_t bytes : spread_shares(n)) {
    total += static_cast<double>(bytes);
  }
  const double expected = 4 * kLatency + n * 100e6 / kRate + total / kRate;
  const Time end = run_parameter_server(switch_of(n + 1), n);
  EXPECT_NEAR(to_seconds(end), expected, 1e-9 * expected);
}

INSTANTIATE_TEST_SUITE_P(Flows, ParameterServer, testing::Values(8, 64, 256));

}  // namespace
}  // namespace twinrun::sim
