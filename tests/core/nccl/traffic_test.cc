#include "core/nccl/traffic.h"

#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "core/nccl/planner.h"
#include "tests/core/nccl/reference_topologies.h"
#include "tests/core/topology/topologies_for_tests.h"

namespace twinrun {
namespace {

using enum NcclAlgorithm;

class TrafficOf {
 public:
  TrafficOf(const std::string& argument, CollectiveKind kind, NcclAlgorithm algorithm)
      : topology_(topology_of(argument)), planner_(topology_) {
    for (const auto& [link, share] : planner_.traffic(gpus_of(topology_), kind, algorithm).share) {
      shares_[topology_.link_name(link)] = share;
    }
  }

  double operator[](const std::string& link) const {
    const auto found = shares_.find(link);
    return found != shares_.end() ? found->second : 0;
  }
  [[nodiscard]] double between(const std::string& from, const std::string& to) const {
    return (*this)[from + " -> " + to];
  }
  [[nodiscard]] const std::map<std::string, double>& all() const { return shares_; }

 private:
  Topology topology_;
  NcclPlanner planner_;
  std::map<std::string, double> shares_;
};

TEST(NcclTraffic, ARingSendsAndReceivesTwiceAllButItsOwnPart) {
  const TrafficOf traffic("dgx-a100", CollectiveKind::kAllReduce, kRing);
  for (int i = 0; i < 8; ++i) {
    const std::string gpu = "gpu" + std::to_string(i);
    EXPECT_NEAR(traffic[gpu + " -> nvswitch0"], 2 * 7.0 / 8, 1e-12);
    EXPECT_NEAR(traffic["nvswitch0 -> " + gpu], 2 * 7.0 / 8, 1e-12);
  }
  EXPECT_EQ(traffic.all().size(), 16U);
  const TrafficOf gather("dgx-a100", CollectiveKind::kAllGather, kRing);
  EXPECT_NEAR(gather["gpu3 -> nvswitch0"], 7.0 / 8, 1e-12);
}

// Six rings over six links: each link of the mesh carries one ring's part, both ways.
TEST(NcclTraffic, AMeshIsLoadedEvenly) {
  const TrafficOf traffic("dgx1-v100", CollectiveKind::kAllReduce, kRing);
  EXPECT_NEAR(traffic["gpu0 -> gpu1"], 2 * 7.0 / 8 / 6, 1e-12);
  EXPECT_NEAR(traffic["gpu0 -> gpu2"], 2 * 2 * 7.0 / 8 / 6, 1e-12);
  EXPECT_NEAR(traffic["gpu2 -> gpu0"], 2 * 2 * 7.0 / 8 / 6, 1e-12);
  EXPECT_EQ(traffic.all().size(), 32U);
}

TEST(NcclTraffic, RingsLeaveAndEnterEveryMachineOnce) {
  for (const char* argument : {"dgx-a100:nodes=4", "dgx-h100:nodes=4", "p5:nodes=4"}) {
    const TrafficOf traffic(argument, CollectiveKind::kAllReduce, kRing);
    std::map<std::string, double> out;
    for (const auto& [link, share] : traffic.all()) {
      EXPECT_EQ(link.find("spine"), std::string::npos) << link;  // rails are kept
      EXPECT_EQ(link.find("cpu"), std::string::npos) << link;
      if (link.find("/nic") < link.find(" -> ") && link.find(" -> rail") != std::string::npos) {
        out[link.substr(0, link.find('/'))] += share;
      }
    }
    ASSERT_EQ(out.size(), 4U) << argument;
    for (const auto& [node, share] : out) {
      EXPECT_NEAR(share, 2 * 31.0 / 32, 1e-12) << argument << node;
    }
  }
}

// Between two machines everything goes up once and down once; both halves make one each way.
TEST(NcclTraffic, ATreeOfTwoMachinesCrossesTheNetworkOnceEachWay) {
  const TrafficOf traffic("p4d:nodes=2", CollectiveKind::kAllReduce, kTree);
  for (int i = 0; i < 4; ++i) {
    const std::string nic = "node0/nic" + std::to_string(i);
    const std::string leaf = "rail" + std::to_string(i) + "-leaf0";
    EXPECT_NEAR(traffic.between(nic, leaf), 1.0 / 4, 1e-12);
    EXPECT_NEAR(traffic.between(leaf, nic), 1.0 / 4, 1e-12);
  }
  // A chain of eight: an end has one neighbour, the others two; four chains with different ends.
  EXPECT_NEAR(traffic["node0/gpu0 -> node0/nvswitch0"], (4 * 2 - 1) / 4.0, 1e-12);
}

TEST(NcclTraffic, NvlsCrossesEachLinkOnce) {
  const TrafficOf one("dgx-h100", CollectiveKind::kAllReduce, kNvls);
  EXPECT_EQ(one["gpu5 -> nvswitch0"], 1);
  EXPECT_EQ(one["nvswitch0 -> gpu5"], 1);
  EXPECT_EQ(one.all().size(), 16U);
  const TrafficOf gather("dgx-h100", CollectiveKind::kAllGather, kNvls);
  EXPECT_EQ(gather["gpu5 -> nvswitch0"], 1.0 / 8);
  const TrafficOf two("dgx-h100:nodes=2", CollectiveKind::kAllReduce, kNvlsTree);
  EXPECT_NEAR(two["node0/nic3 -> rail3-leaf0"], 1.0 / 8, 1e-12);
}

// The rate at which the first link is full is what the model says without its corrections.
TEST(NcclTraffic, RingsFillTheirLinksAtTheSpeedsFound) {
  for (const char* argument : {"dgx1-v100", "dgx1-p100", "dgx-a100", "dgx-a100:nodes=2",
                               "dgx-h100:nodes=16", "dgx1-v100:nodes=4", "p4d:nodes=2"}) {
    const Topology topology = topology_of(argument);
    NcclPlanner planner(topology);
    const std::vector<VertexId> ranks = gpus_of(topology);
    const auto& plan = std::get<NcclPlan>(planner.plan(ranks));
    double gbps = 1e9;
    for (const auto& [link, share] :
         planner.traffic(ranks, CollectiveKind::kAllReduce, kRing).share) {
      gbps = std::min(gbps, to_gigabytes_per_second(topology.bandwidth(link)) / share);
    }
    const NcclSearchGraph& ring = plan.search.graphs.ring;
    const auto n = static_cast<double>(ranks.size());
    EXPECT_NEAR(gbps * 2 * (n - 1) / n / (ring.channels * ring.intra_gbps), 1, 1e-9) << argument;
  }
}

void expect_tree(const std::vector<int>& parents) {
  const int nodes = static_cast<int>(parents.size());
  std::vector<int> children(parents.size(), 0);
  int roots = 0;
  for (int node = 0; node < nodes; ++node) {
    int depth = 0;
    for (int at = node; parents[static_cast<std::size_t>(at)] >= 0;
         at = parents[static_cast<std::size_t>(at)]) {
      ASSERT_LE(++depth, 1 + std::log2(nodes));
    }
    const int parent = parents[static_cast<std::size_t>(node)];
    roots += parent < 0 ? 1 : 0;
    if (parent >= 0) {
      EXPECT_LE(++children[static_cast<std::size_t>(parent)], 2);
    }
  }
  EXPECT_EQ(roots, 1);
}

std::vector<bool> inner(const std::vector<int>& parents) {
  std::vector<bool> has_child(parents.size(), false);
  for (const int parent : parents) {
    if (parent >= 0) {
      has_child[static_cast<std::size_t>(parent)] = true;
    }
  }
  return has_child;
}

TEST(DoubleBinaryTree, NodesWorkInOneOfTheTwoTreesOnly) {
  for (int nodes = 1; nodes <= 65; ++nodes) {
    SCOPED_TRACE(nodes);
    const std::vector<int> first = first_tree_parents(nodes);
    const std::vector<int> second = second_tree_parents(nodes);
    expect_tree(first);
    expect_tree(second);
    int in_both = 0;
    for (std::size_t i = 0; i < first.size(); ++i) {
      in_both += inner(first)[i] && inner(second)[i] ? 1 : 0;
    }
    EXPECT_LE(in_both, nodes % 2);
  }
}

TEST(NcclPlanner, KeepsItsAnswers) {
  const Topology topology = topology_of("dgx-a100");
  NcclPlanner planner(topology);
  const std::vector<VertexId> ranks = gpus_of(topology);
  const auto* plan = &planner.plan(ranks);
  const auto* traffic = &planner.traffic(ranks, CollectiveKind::kAllReduce, kRing);
  planner.plan(gpus_of(topology, 4));
  EXPECT_EQ(&planner.plan(ranks), plan);
  EXPECT_EQ(&planner.traffic(ranks, CollectiveKind::kAllReduce, kRing), traffic);
}

TEST(NcclPlanner, RefusedRanksHaveNoTraffic) {
  const Topology topology = topology_of("single-switch:hosts=2,bandwidth=1GB/s");
  NcclPlanner planner(topology);
  const std::vector<VertexId> ranks = topology.compute_devices();
  EXPECT_TRUE(std::holds_alternative<NcclRefusal>(planner.plan(ranks)));
  EXPECT_TRUE(planner.traffic(ranks, CollectiveKind::kAllReduce, kRing).share.empty());
}

TEST(NcclPlanner, OneGpuHasNothingToSend) {
  const Topology topology = topology_of("dgx-a100");
  NcclPlanner planner(topology);
  const std::vector<VertexId> ranks = gpus_of(topology, 1);
  const auto& plan = std::get<NcclPlan>(planner.plan(ranks));
  EXPECT_EQ(plan.prediction.predict(CollectiveKind::kAllReduce, {1 << 20})->time_us, 0);
  EXPECT_TRUE(planner.traffic(ranks, CollectiveKind::kAllReduce, kRing).share.empty());
}

}  // namespace
}  // namespace twinrun
