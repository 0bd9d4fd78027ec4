#include "core/nccl/search.h"

#include <algorithm>
#include <cstdio>
#include <set>

#include <gtest/gtest.h>

#include "core/io/catalogue.h"
#include "core/nccl/tuning.h"
#include "tests/core/nccl/reference_machines.h"
#include "tests/core/nccl/reference_topologies.h"
#include "tests/core/topology/topologies_for_tests.h"

namespace twinrun {
namespace {

NcclSearch found(const Topology& topology, const std::vector<VertexId>& ranks) {
  auto result = search_channels(topology, ranks);
  if (const auto* refusal = std::get_if<NcclRefusal>(&result)) {
    ADD_FAILURE() << refusal->why;
    return {};
  }
  return std::get<NcclSearch>(std::move(result));
}

std::vector<VertexId> named(const Topology& topology, const std::vector<std::string>& names) {
  std::vector<VertexId> ranks;
  ranks.reserve(names.size());
  for (const std::string& name : names) {
    ranks.push_back(at(topology, name));
  }
  return ranks;
}

std::string refusal_of(const Topology& topology, const std::vector<VertexId>& ranks) {
  const auto result = search_channels(topology, ranks);
  const auto* refusal = std::get_if<NcclRefusal>(&result);
  return refusal != nullptr ? refusal->why : "";
}

// "4x12/12 NVL" as the reference's table writes it.
std::string text_of(const NcclSearchGraph& graph) {
  char text[96];
  std::snprintf(text, sizeof text, "%dx%g/%g %s%s", graph.channels, graph.intra_gbps,
                graph.inter_gbps, std::string(name_of(graph.intra_path)).c_str(),
                graph.plain_tree ? " plain" : "");
  return text;
}

void expect_choices(const NcclModel& model, const ReferenceMachine& machine) {
  EXPECT_EQ(model.compute_channels(), machine.compute_channels);
  for (std::size_t i = 0; i < kReferenceSizes.size(); ++i) {
    const auto choice = model.choose(CollectiveKind::kAllReduce, {kReferenceSizes[i]});
    ASSERT_TRUE(choice);
    EXPECT_EQ(name_of(choice->algorithm), name_of(machine.expected[i].algorithm));
    EXPECT_EQ(name_of(choice->protocol), name_of(machine.expected[i].protocol));
    EXPECT_NEAR(choice->time_us, machine.expected[i].time_us, 0.55 * machine.expected[i].digit);
  }
}

// Which of the graphs' facts the table gives: all but where the NICs are, except in four rows.
TEST(NcclSearch, FindsWhatTheReferenceTableSays) {
  for (const ReferenceMachine& machine : reference_machines()) {
    SCOPED_TRACE(machine.name);
    const Topology topology = reference_topology(machine.name);
    const NcclSearch search = found(topology, gpus_of(topology));
    EXPECT_EQ(text_of(search.graphs.ring), text_of(machine.graphs.ring));
    EXPECT_EQ(text_of(search.graphs.tree), text_of(machine.graphs.tree));
    EXPECT_EQ(text_of(search.graphs.nvls), text_of(machine.graphs.nvls));
    expect_choices(NcclModel(search.system, search.graphs), machine);
  }
}

TEST(NcclSearch, TellsHowFarTheNicsAre) {
  const auto inter_path = [](const std::string& row) {
    const Topology topology = reference_topology(row);
    return std::string(name_of(found(topology, gpus_of(topology)).graphs.ring.inter_path));
  };
  EXPECT_EQ(inter_path("DGX-1 P100 x2"), "PIX");
  EXPECT_EQ(inter_path("V100 x2"), "PIX");
  EXPECT_EQ(inter_path("A10 x4"), "PHB");
  EXPECT_EQ(inter_path("DGX A100 x2"), "PXB");  // the catalogue draws the bridges at the GPUs
}

// A GPU has as many rings through it as it has links to the others: one between two, two each in a
// triangle, four in a half. GPU 4 alone in its half hangs on GPU 0, which must relay; with GPU 5
// the single link 4-5 carries a ring each way; all eight have six.
TEST(NcclSearch, RingsOfPartsOfACubeMesh) {
  const Topology topology = topology_of("dgx1-v100");
  const std::vector<std::string> expected = {"1x20/20 NVL", "2x20/20 NVL", "4x20/20 NVL",
                                             "2x20/20 NVB", "2x20/20 NVL", "4x20/20 NVL",
                                             "6x20/20 NVL"};
  for (std::size_t n = 2; n <= 8; ++n) {
    EXPECT_EQ(text_of(found(topology, gpus_of(topology, n)).graphs.ring), expected[n - 2]) << n;
  }
}

TEST(NcclSearch, AnyGpusOfAMachineInAnyOrder) {
  const Topology topology = topology_of("dgx1-v100");
  // 0-4 and 4-6 have two links, 0-6 none: GPU 4 relays, and each link is passed once; 40 GB/s are
  // too much for one block.
  EXPECT_EQ(text_of(found(topology, named(topology, {"gpu6", "gpu0", "gpu4"})).graphs.ring),
            "2x20/20 NVB");
  // 1-3, 3-2 and 2-1: two, two and one link.
  const NcclSearch one = found(topology, named(topology, {"gpu1", "gpu2", "gpu3"}));
  const NcclSearch other = found(topology, named(topology, {"gpu3", "gpu1", "gpu2"}));
  EXPECT_EQ(text_of(one.graphs.ring), "2x20/20 NVL");
  EXPECT_EQ(one.graphs, other.graphs);
  EXPECT_EQ(one.members[0].gpus, other.members[0].gpus);
}

// Every channel visits each GPU once, and no capacity is drawn on beyond what it has.
void expect_lawful(const NcclMachineChannels& found) {
  const NcclMachine& machine = found.machine;
  NcclLedger ledger(machine);
  const double gbps = found.graphs.ring.intra_gbps;
  for (const NcclChannel& ring : found.rings) {
    EXPECT_EQ(std::set(ring.gpus.begin(), ring.gpus.end()).size(), machine.gpu_count());
    EXPECT_EQ(ring.gpus.size(), machine.gpu_count());
    for (std::size_t i = 1; i < ring.gpus.size(); ++i) {
      EXPECT_TRUE(ledger.take(machine.between(ring.gpus[i - 1], ring.gpus[i]), gbps));
    }
    if (ring.enters == NcclChannel::kNoNic) {
      EXPECT_TRUE(ledger.take(machine.between(ring.gpus.back(), ring.gpus.front()), gbps));
      continue;
    }
    const auto enters = static_cast<std::size_t>(ring.enters);
    const auto leaves = static_cast<std::size_t>(ring.leaves);
    EXPECT_TRUE(ledger.take(machine.from_nic(enters, ring.gpus.front()), gbps));
    EXPECT_TRUE(ledger.take(machine.to_nic(ring.gpus.back(), leaves), gbps));
  }
}

TEST(NcclSearch, NoChannelDrawsMoreThanThereIs) {
  for (const ReferenceMachine& machine : reference_machines()) {
    SCOPED_TRACE(machine.name);
    const Topology topology = reference_topology(machine.name);
    for (std::size_t n = 2; n <= 8; ++n) {
      const NcclSearch search = found(topology, gpus_of(topology, n));
      std::for_each(search.machines.begin(), search.machines.end(), expect_lawful);
    }
  }
}

TEST(NcclSearch, UnequalMachinesTakeTheLeast) {
  const Topology topology = topology_of("dgx1-v100:nodes=2");
  std::vector<VertexId> ranks = gpus_of(topology);
  const NcclSearch whole = found(topology, ranks);
  EXPECT_EQ(whole.machines.size(), 1U);
  ranks.resize(12);  // node1 with its first half, which has two of the four NICs
  const NcclSearch search = found(topology, ranks);
  EXPECT_EQ(search.machines.size(), 2U);
  EXPECT_EQ(text_of(search.graphs.ring), "2x12/12 NVL");
  EXPECT_EQ(search.system.ranks, 12);
  EXPECT_EQ(search.system.nodes, 2);
}

TEST(NcclSearch, FourNicsOfAGpuAreUsedAsOne) {
  const Topology topology = topology_of("p5:nodes=2");
  const NcclSearch search = found(topology, gpus_of(topology));
  EXPECT_EQ(search.machines[0].machine.nic_count(), 8U);
  EXPECT_EQ(text_of(search.graphs.ring), "8x48/48 NVL");
}

// The GPU that has no NIC near sends through its neighbour on NVLink.
TEST(NcclSearch, FarGpusSendThroughANeighbour) {
  const Topology topology = topology_of("dgx-h100:nodes=2,nics=1");
  const NcclSearch search = found(topology, gpus_of(topology));
  EXPECT_EQ(text_of(search.graphs.ring), "2x24/24 NVL");  // 48 in two
  EXPECT_EQ(name_of(search.graphs.ring.inter_path), "PXN");
}

TEST(NcclSearch, WithoutPeerAccessTrafficGoesThroughHostMemory) {
  const Topology topology = topology_of("pcie-2x2080ti");
  const NcclSearch search = found(topology, gpus_of(topology));
  // Both GPUs send and receive over the switch's one link of 12.2, at 6/5: 12.2 / 2.4 = 5.08.
  EXPECT_EQ(text_of(search.graphs.ring), "1x5/5 PHB");
  EXPECT_TRUE(search.graphs.ring.through_host);
  EXPECT_NEAR(search.filled.ring.intra_gbps, 12.2 / 2.4, 1e-9);
}

// The list of the newest GPUs ends at 18 GB/s.
TEST(NcclSearch, LinksSlowerThanAnyListedSpeedCarryOneRing) {
  const Topology topology = topology_of_text(R"({"devices": {"g": {"kind": "gpu", "sm": 120}},
    "templates": {"m": {"parts": [{"name": "gpu", "device": "g", "count": 2},
      {"name": "cpu", "kind": "cpu", "count": 1}],
      "links": [{"from": "gpu*", "to": "cpu0", "bandwidth": 12}]}}, "nodes": {"m": 1}})");
  const NcclSearch search = found(topology, gpus_of(topology));
  EXPECT_EQ(text_of(search.graphs.ring), "1x12/12 PHB");
  EXPECT_EQ(text_of(search.graphs.tree), "1x12/12 PHB");
}

TEST(NcclSearch, RefusalsSayWhy) {
  const Topology two = topology_of("dgx-a100:nodes=2");
  EXPECT_EQ(refusal_of(two, {}), "there are no ranks");
  EXPECT_EQ(refusal_of(two, named(two, {"node0/gpu0", "node0/cpu1"})),
            "NCCL runs on GPUs, and node0/cpu1 is a cpu");
  EXPECT_EQ(refusal_of(two, named(two, {"node0/gpu0", "node0/gpu0"})), "node0/gpu0 is named twice");
  const Topology cpus = topology_of("single-switch:hosts=2,bandwidth=1GB/s");
  EXPECT_EQ(refusal_of(cpus, cpus.compute_devices()), "NCCL runs on GPUs, and node0/cpu0 is a cpu");
  Diagnostics not_connected;
  const std::string text = R"({"templates": {"m": {"parts": [{"name": "gpu", "kind": "gpu",
      "count": 2}, {"name": "cpu", "kind": "cpu", "count": 1}], "links": [{"from": "gpu*",
      "to": "cpu0", "bandwidth": 8}]}}, "nodes": {"m": 2}})";
  const Topology apart = build_topology(spec_of_text(text, not_connected), not_connected);
  EXPECT_EQ(refusal_of(apart, gpus_of(apart)), "node0 has no NIC on a network");
  EXPECT_EQ(refusal_of(apart, gpus_of(apart, 2)), "");
}

TEST(NcclSearch, GpusWithoutAWayBetweenThemAreRefused) {
  OverrideSpec cut;
  cut.link_ends = {"gpu0", "pcie0"};
  cut.failed = true;
  Diagnostics diagnostics;
  TopologySpec spec = read_topology_argument("pcie-8gpu", diagnostics);
  spec.overrides.push_back(cut);
  const Topology topology = build_topology(spec, diagnostics);
  EXPECT_EQ(refusal_of(topology, gpus_of(topology)),
            "the GPUs of node0 (gpu0 …) are not joined to each other");
}

// Every machine of the catalogue, alone and in clusters.
TEST(NcclSearch, FindsRingsQuicklyInEveryMachine) {
  for (const std::string& name : catalogue_topology_names()) {
    const Topology one = topology_of(name);
    if (one.kind(one.compute_devices().front()) != VertexKind::kGpu) {
      continue;
    }
    for (const char* nodes : {"", ":nodes=2", ":nodes=3"}) {
      const Topology topology = topology_of(name + nodes);
      const WorkTimer timer;
      const NcclSearch search = found(topology, gpus_of(topology));
      EXPECT_LT(timer.seconds(), 0.05) << name << nodes;
      std::for_each(search.machines.begin(), search.machines.end(), expect_lawful);
      if (search.system.ranks > 1) {
        EXPECT_GE(search.graphs.ring.channels, 1) << name << nodes;
        EXPECT_EQ(search.graphs.tree.channels, search.graphs.ring.channels) << name << nodes;
      }
    }
  }
}

TEST(NcclSearch, LooksOnceAtMachinesThatAreAlike) {
  const Topology topology = topology_of("dgx-h100:nodes=2048");
  const std::vector<VertexId> ranks = gpus_of(topology);
  const WorkTimer timer;
  EXPECT_EQ(found(topology, ranks).machines.size(), 1U);
  EXPECT_LT(timer.seconds(), 0.1);
}

}  // namespace
}  // namespace twinrun
