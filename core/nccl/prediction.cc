#include "core/nccl/prediction.h"

#include <algorithm>
#include <cmath>

namespace twinrun {
namespace {

// GB/s of one NVLink, one direction: what NCCL counts with, and what its rings reach at best.
struct NvlinkRate {
  int from_sm;
  double nccl;
  double reached;
};
constexpr NvlinkRate kNvlinkRates[] = {
    {100, 40.1, 38.9},  // 700 of 18 links: nccl_busbw_reference_nvidia
    {90, 20.6, 20.6},   // 370 of 18: the same
    {86, 12, 11.9},     // 47.5 of 4: nccl_a40_pcie_and_dgxa100_p2p_off
    {80, 20, 19.6},     // 235 of 12: nccl_all_ops_8xa100_superbench
    {70, 20, 22.5},     // 135.5 of 6: nccl_single_points_v100_a100; 90 % of the line rate, as gen 1
    {60, 18, 18},
};

double reached_share(int sm) {
  for (const NvlinkRate& rate : kNvlinkRates) {
    if (sm >= rate.from_sm) {
      return rate.reached / rate.nccl;
    }
  }
  return 1;
}

// GB/s that one thread block moves through host memory: its loads across PCIe are few and slow.
struct HostRate {
  int from_sm;
  double gbps;
};
constexpr HostRate kHostRates[] = {
    {90, 6},    // 24 of four: nccl_a40_pcie_and_dgxa100_p2p_off, P2P switched off
    {86, 2},    // 3.9 of two: the same
    {80, 2.6},  // 5.2 of two: the same
    {0, 2},     // 4.0 of two: nccl_2x2080ti_pcie_no_p2p
};

double host_rate(int sm) {
  return std::find_if(std::begin(kHostRates), std::end(kHostRates),
                      [&](const HostRate& rate) { return sm >= rate.from_sm; })
      ->gbps;
}

void deliver(NcclSearchGraph& graph, const NcclSearch& search, bool one_way) {
  double speed = graph.intra_gbps;
  if (graph.intra_path == NcclPath::kNvl) {
    speed *= reached_share(search.system.sm);
  } else if (graph.through_host && one_way) {
    const double hops = search.system.ranks;  // of a ring; a chain has one less on the same links
    speed *= hops / (hops - 1);
  } else if (graph.through_host && graph.channels > 0) {
    const int blocks = nccl_compute_channels(search.graphs.ring, search.system);
    speed = std::min(speed, host_rate(search.system.sm) * blocks / graph.channels);
  }
  graph.intra_gbps = speed;
  graph.inter_gbps = speed;
}

// A flush is a read through the NIC of one's own machine, so it does not cost another crossing of
// the network; and a tree's Simple corrections stand for its pipeline, which is counted apart.
NcclTables expected(NcclTables tables) {
  tables.flush_nic_latencies = 0;
  tables.tree_correction[static_cast<std::size_t>(NcclProtocol::kSimple)].fill(1);
  return tables;
}

constexpr double kChunkBytes = 512 * 1024;  // one step of a channel's buffer (3.6)

// Stages after the first, and the time a full chunk takes through them.
struct Pipeline {
  int later_stages = 0;
  double full_chunks_us = 0;
};

// A chain up and down in each machine, and the levels of the tree up and down between them.
Pipeline tree_pipeline(const NcclModel& model) {
  const NcclSystem& system = model.system();
  const NcclSearchGraph& tree = model.graphs().tree;
  const int channels = model.compute_channels();
  const int inside = 2 * (system.ranks / system.nodes - 1);
  const int between = 2 * nccl_tree_levels(system.nodes);
  const double intra_us = kChunkBytes * channels / (1000 * tree.channels * tree.intra_gbps);
  const double inter_us = kChunkBytes * channels / (1000 * tree.channels * tree.inter_gbps);
  return {inside + between - 1, inside * intra_us + between * inter_us};
}

// Broadcast and reduce pass a ring from end to end; a chunk is one step here too.
Pipeline ring_pipeline(const NcclModel& model, double bandwidth_gbps) {
  const int later = model.system().ranks - 2;
  return {later, later * kChunkBytes * model.compute_channels() / (1000 * bandwidth_gbps)};
}

// Up to the switch and down again, and for several machines a tree between; a round is a chunk of
// at most 128 KiB for each head and channel (3.6).
Pipeline nvls_pipeline(const NcclModel& model, double bandwidth_gbps) {
  constexpr double kNvlsChunkBytes = 128 * 1024;
  const NcclSystem& system = model.system();
  const double round =
      kNvlsChunkBytes * nccl_nvls_channels(system) * model.graphs().nvls.channels / 1000;
  const int later = 1 + 2 * nccl_tree_levels(system.nodes);
  return {later, later * round / bandwidth_gbps};
}

Pipeline pipeline_of(const NcclModel& model,
                     CollectiveKind collective,
                     NcclAlgorithm algorithm,
                     double bandwidth_gbps) {
  switch (algorithm) {
    case NcclAlgorithm::kTree:
      return tree_pipeline(model);
    case NcclAlgorithm::kNvls:
    case NcclAlgorithm::kNvlsTree:
      return nvls_pipeline(model, bandwidth_gbps);
    case NcclAlgorithm::kRing:
      return has_root(collective) ? ring_pipeline(model, bandwidth_gbps) : Pipeline{};
    case NcclAlgorithm::kCollnetDirect:
    case NcclAlgorithm::kCollnetChain:
    case NcclAlgorithm::kPat:
      break;
  }
  return {};
}

double ring_wire_wait_us(const NcclModel& model,
                         CollectiveKind collective,
                         NcclProtocol protocol,
                         Bytes bytes) {
  constexpr double kChunkSteps = 4;  // buffer steps of a ring's chunk
  constexpr double kSlices = 2;      // of a chunk
  const NcclSystem& system = model.system();
  const double rounds = collective == CollectiveKind::kAllReduce ? 2 : 1;
  const double waits = rounds * (system.nodes - 1);
  if (protocol != NcclProtocol::kSimple) {
    return waits * system.wire_latency_us;
  }
  const double each = static_cast<double>(bytes.count) / system.ranks;
  const double chunk = std::min(kChunkSteps * kChunkBytes * model.compute_channels(), each);
  const double bus_gbps = model.cost(collective, NcclAlgorithm::kRing, protocol).bandwidth_gbps *
                          rounds * (system.ranks - 1) / system.ranks;
  const double hidden_us = chunk * (1 - 1 / kSlices) / (1000 * bus_gbps);
  return std::max(system.wire_latency_us,
                  each / chunk * waits * (system.wire_latency_us - hidden_us));
}

}  // namespace

NcclSearchGraphs delivered(const NcclSearch& search, bool one_way) {
  NcclSearchGraphs result = search.filled;
  if (search.system.nodes == 1) {
    deliver(result.ring, search, one_way);
    deliver(result.tree, search, one_way);
  }
  return result;
}

// With c bytes a chunk, s stages and a latency of a for each, n bytes take n/c + s - 1 turns of
// a + c/b. The best c makes that s·a + n/b + 2·√((s-1)·a·n/b), the classic optimum of a pipelined
// chain; s·a is the latency. A chunk is neither larger than the buffer allows nor than the data.
double pipeline_fill_us(const NcclModel& model,
                        CollectiveKind collective,
                        NcclAlgorithm algorithm,
                        NcclProtocol protocol,
                        Bytes bytes) {
  const NcclCost& cost = model.cost(collective, algorithm, protocol);
  if (!cost.allowed || protocol != NcclProtocol::kSimple) {
    return 0;
  }
  const Pipeline pipeline = pipeline_of(model, collective, algorithm, cost.bandwidth_gbps);
  if (pipeline.later_stages <= 0) {
    return 0;
  }
  const double transfer_us = static_cast<double>(bytes.count) / (1000 * cost.bandwidth_gbps);
  const double later_latency_us =
      cost.latency_us * pipeline.later_stages / (pipeline.later_stages + 1);
  return std::min({2 * std::sqrt(later_latency_us * transfer_us), pipeline.full_chunks_us,
                   pipeline.later_stages * transfer_us});
}

double wire_wait_us(const NcclModel& model,
                    CollectiveKind collective,
                    NcclAlgorithm algorithm,
                    NcclProtocol protocol,
                    Bytes bytes) {
  const NcclSystem& system = model.system();
  const double wire_us = system.wire_latency_us;
  const NcclCost& cost = model.cost(collective, algorithm, protocol);
  if (wire_us <= 0 || system.nodes == 1 || !cost.allowed) {
    return 0;
  }
  switch (algorithm) {
    case NcclAlgorithm::kTree:
    case NcclAlgorithm::kNvlsTree:
      return 2 * nccl_tree_levels(system.nodes) * wire_us;
    case NcclAlgorithm::kPat:
      return nccl_tree_levels(system.nodes) * wire_us;
    case NcclAlgorithm::kCollnetDirect:
    case NcclAlgorithm::kCollnetChain:
    case NcclAlgorithm::kNvls:
      return 2 * wire_us;
    case NcclAlgorithm::kRing:
      break;
  }
  return has_root(collective) ? (system.nodes - 1) * wire_us
                              : ring_wire_wait_us(model, collective, protocol, bytes);
}

NcclPrediction::NcclPrediction(const NcclSearch& search,
                               const NcclTables& tables,
                               const NcclLaunch& launch)
    : own_(search.system, search.graphs, tables),
      real_(search.system, delivered(search), expected(tables)),
      real_one_way_(search.system, delivered(search, true), expected(tables)),
      launches_us_((launch.gpus_per_process - 1) * launch.launch_us) {}

std::optional<NcclChoice> NcclPrediction::predict(CollectiveKind collective,
                                                  Bytes bytes,
                                                  int pipelined,
                                                  std::optional<NcclAlgorithm> only) const {
  std::optional<NcclChoice> choice = own_.choose(collective, bytes, pipelined, only);
  if (!choice || choice->channels == 0) {
    return choice;  // nothing to send
  }
  const NcclModel& real = has_root(collective) ? real_one_way_ : real_;
  const std::optional<double> time =
      real.time_us(collective, choice->algorithm, choice->protocol, bytes, pipelined);
  choice->time_us = *time + launches_us_ +
                    pipeline_fill_us(real, collective, choice->algorithm, choice->protocol, bytes) +
                    wire_wait_us(real, collective, choice->algorithm, choice->protocol, bytes);
  return choice;
}

}  // namespace twinrun
