#include "core/nccl/prediction.h"

#include <gtest/gtest.h>

#include "core/nccl/planner.h"
#include "tests/core/nccl/reference_topologies.h"
#include "tests/core/topology/topologies_for_tests.h"

namespace twinrun {
namespace {

using enum NcclAlgorithm;
using enum NcclProtocol;

NcclSearch search_of(const std::string& argument, std::size_t gpus = 1U << 30) {
  const Topology topology = topology_of(argument);
  return std::get<NcclSearch>(search_channels(topology, gpus_of(topology, gpus)));
}

TEST(NcclPrediction, KeepsNcclsOwnEstimateApart) {
  const NcclSearch search = search_of("dgx1-v100");
  const NcclPrediction prediction(search);
  const NcclModel model(search.system, search.graphs);
  for (std::int64_t bytes = 1; bytes < std::int64_t{1} << 34; bytes *= 7) {
    const auto own = prediction.own_estimate().choose(CollectiveKind::kAllReduce, {bytes});
    const auto expected = prediction.predict(CollectiveKind::kAllReduce, {bytes});
    EXPECT_EQ(own->time_us, model.choose(CollectiveKind::kAllReduce, {bytes})->time_us);
    EXPECT_EQ(own->algorithm, expected->algorithm);
    EXPECT_EQ(own->protocol, expected->protocol);
  }
}

// Links as fast as rings get them; listed speeds are only NCCL's way of counting.
TEST(Delivered, ChannelsFillTheirLinks) {
  const auto ring = [](const NcclSearch& search) {
    const NcclSearchGraph graph = delivered(search).ring;
    return graph.channels * graph.intra_gbps;
  };
  EXPECT_NEAR(ring(search_of("dgx1-v100")), 6 * 22.5, 1e-9);
  EXPECT_NEAR(ring(search_of("dgx1-v100", 5)), 2 * 20, 1e-9);  // through GPU 0: left as it is
  EXPECT_NEAR(ring(search_of("dgx1-p100")), 4 * 18, 1e-9);
  EXPECT_NEAR(ring(search_of("dgx-a100")), 12 * 19.6, 1e-9);
  EXPECT_NEAR(ring(search_of("dgx-h100")), 18 * 20.6, 1e-9);
  EXPECT_NEAR(ring(search_of("hgx-b200")), 18 * 38.9, 1e-9);
  EXPECT_NEAR(ring(search_of("pcie-2x2080ti")), 2 * 2, 1e-9);      // two blocks through host memory
  EXPECT_NEAR(ring(search_of("dgx-a100:nodes=2")), 8 * 24, 1e-9);  // NICs: left as it is
}

TEST(PipelineFill, OnlyChainsOfWholeChunksMustFill) {
  const NcclSearch search = search_of("dgx-h100:nodes=2");
  const NcclModel model(search.system, search.graphs);
  const auto fill = [&](NcclAlgorithm algorithm, NcclProtocol protocol, std::int64_t bytes) {
    return pipeline_fill_us(model, CollectiveKind::kAllReduce, algorithm, protocol, {bytes});
  };
  constexpr std::int64_t kLarge = std::int64_t{1} << 34;
  EXPECT_EQ(fill(kRing, kSimple, kLarge), 0);
  EXPECT_EQ(fill(kTree, kLl, kLarge), 0);
  EXPECT_EQ(fill(kTree, kLl128, kLarge), 0);
  EXPECT_EQ(fill(kTree, kSimple, 0), 0);
  // 16 channels in 8 of 48 GB/s: 512 KiB at 24 take 21.8 us, over 14 hops inside and 2 between.
  EXPECT_NEAR(fill(kTree, kSimple, kLarge), 16 * 524288 / 24e3, 1e-9);
  // Three later stages of 16 channels × 8 heads × 128 KiB at 8 × 57.7 × 16/30 GB/s.
  EXPECT_NEAR(fill(kNvlsTree, kSimple, kLarge), 3 * 16 * 8 * 131072 / (8 * 57.7 * 16 / 30 * 1e3),
              1e-9);
  EXPECT_GT(pipeline_fill_us(model, CollectiveKind::kBroadcast, kRing, kSimple, {kLarge}), 0);
}

TEST(PipelineFill, SmallDataAreTheirOwnChunk) {
  const NcclSearch search = search_of("dgx-h100");
  const NcclModel model(search.system, search.graphs);
  const double fill =
      pipeline_fill_us(model, CollectiveKind::kAllReduce, kNvls, kSimple, {1 << 20});
  // One stage later, at 8 × 59.5 × 8/14 GB/s.
  EXPECT_NEAR(fill, (1 << 20) / (8 * 59.5 * 8 / 14 * 1e3), 1e-9);
}

// Four machines with one GPU: two channels, 2 MiB of each a chunk, slices half of that; NCCL's list
// has 0.12 GB/s for 1 Gb/s.
TEST(WireWait, RingsWaitInEveryStepAndRoundThatTransfersDoNotHide) {
  NcclSearch search = search_of("p3.2xlarge:nodes=4,nic=1Gb/s");
  const auto wait = [&](double wire_us, std::int64_t bytes, CollectiveKind kind) {
    search.system.wire_latency_us = wire_us;
    const NcclModel model(search.system, search.graphs);
    EXPECT_EQ(model.compute_channels(), 2);
    return wire_wait_us(model, kind, kRing, kSimple, {bytes});
  };
  constexpr std::int64_t kMiB = 1 << 20;
  constexpr double kSlice_us = 2 * kMiB / 120.0;
  EXPECT_EQ(wait(0, 64 * kMiB, CollectiveKind::kAllReduce), 0);
  // 64 MiB go round four times, 2 · 3 steps each.
  EXPECT_NEAR(wait(50e3, 64 * kMiB, CollectiveKind::kAllReduce), 4 * 6 * (50e3 - kSlice_us), 1e-3);
  EXPECT_NEAR(wait(50e3, 64 * kMiB, CollectiveKind::kAllGather), 4 * 3 * (50e3 - kSlice_us), 1e-3);
  // A slice takes longer than the wire: only the first is waited for.
  EXPECT_NEAR(wait(10e3, 64 * kMiB, CollectiveKind::kAllReduce), 10e3, 1e-3);
  // 4 MiB are chunks of half a MiB on each channel.
  EXPECT_NEAR(wait(50e3, 4 * kMiB, CollectiveKind::kAllReduce), 6 * (50e3 - kSlice_us / 4), 1e-3);
  // A chain hands on: three wires.
  EXPECT_NEAR(wait(50e3, 64 * kMiB, CollectiveKind::kBroadcast), 3 * 50e3, 1e-3);
}

TEST(WireWait, PlannersKnowTheWiresOfTheTopology) {
  const auto wire_us = [](const std::string& argument) {
    const Topology topology = topology_of(argument);
    NcclPlanner planner(topology);
    return std::get<NcclPlan>(planner.plan(gpus_of(topology))).search.system.wire_latency_us;
  };
  EXPECT_NEAR(wire_us("p3.2xlarge:nodes=4,latency=25ms"), 2 * 25e3 - 2, 1e-6);
  EXPECT_EQ(wire_us("dgx-a100:nodes=4"), 0);  // within what NCCL's figures contain
  EXPECT_EQ(wire_us("dgx-a100"), 0);
}

// nccl_2x2080ti_pcie_no_p2p: 11 GB/s one way, 4 in each direction at once.
TEST(NcclPrediction, OneWayThroughHostMemoryIsNotHeldUp) {
  const NcclPrediction prediction(search_of("pcie-2x2080ti"));
  const auto gbps = [&](CollectiveKind kind) {
    return (1 << 30) / prediction.predict(kind, {1 << 30})->time_us / 1000;
  };
  EXPECT_NEAR(gbps(CollectiveKind::kBroadcast), 11.1, 1.1);
  EXPECT_NEAR(gbps(CollectiveKind::kAllReduce), 4, 0.1);
}

TEST(NcclPrediction, OneProcessLaunchesOneAfterAnother) {
  const NcclSearch search = search_of("dgx-a100");
  const auto time = [&](const NcclLaunch& launch) {
    return NcclPrediction(search, default_nccl_tables(), launch)
        .predict(CollectiveKind::kAllReduce, {8})
        ->time_us;
  };
  EXPECT_NEAR(time({8, 3}) - time({1, 3}), 21, 1e-9);
  EXPECT_NEAR(time({4, 2}) - time({}), 6, 1e-9);
}

TEST(NcclPrediction, UnorderedNetworksLeaveOnlySimple) {
  const NcclSearch search = search_of("p4d:nodes=2");
  EXPECT_FALSE(search.system.network_in_order);
  const NcclModel model(search.system, search.graphs);
  EXPECT_FALSE(model.cost(CollectiveKind::kAllReduce, kTree, kLl).allowed);
  EXPECT_FALSE(model.cost(CollectiveKind::kAllReduce, kRing, kLl128).allowed);
  EXPECT_TRUE(model.cost(CollectiveKind::kAllReduce, kTree, kSimple).allowed);
  const NcclSearch inside = search_of("p4d");
  EXPECT_TRUE(
      NcclModel(inside.system, inside.graphs).cost(CollectiveKind::kAllReduce, kRing, kLl).allowed);
}

}  // namespace
}  // namespace twinrun
