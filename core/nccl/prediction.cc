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

void deliver(NcclSearchGraph& graph, double share) {
  if (graph.intra_path == NcclPath::kNvl) {
    graph.intra_gbps *= share;
    graph.inter_gbps *= share;
  }
}

// A flush is a read through the NIC of one's own machine, so it does not cost another crossing of
// the network; and a tree's Simple corrections stand for its pipeline, which is counted apart.
NcclTables expected(NcclTables tables) {
  tables.flush_nic_latencies = 0;
  tables.tree_correction[static_cast<std::size_t>(NcclProtocol::kSimple)].fill(1);
  return tables;
}

// Stages after the first, and the time a full chunk takes through them.
struct Pipeline {
  int later_stages = 0;
  double full_chunks_us = 0;
};

// A chain up and down in each machine, and the levels of the tree up and down between them; a chunk
// is one step of a channel's buffer (3.6).
Pipeline tree_pipeline(const NcclModel& model) {
  constexpr double kChunkBytes = 512 * 1024;
  const NcclSystem& system = model.system();
  const NcclSearchGraph& tree = model.graphs().tree;
  const int channels = model.compute_channels();
  const int inside = 2 * (system.ranks / system.nodes - 1);
  const int between = 2 * nccl_tree_levels(system.nodes);
  const double intra_us = kChunkBytes * channels / (1000 * tree.channels * tree.intra_gbps);
  const double inter_us = kChunkBytes * channels / (1000 * tree.channels * tree.inter_gbps);
  return {inside + between - 1, inside * intra_us + between * inter_us};
}

// Up to the switch and down again, and for several machines a tree between; a round is a chunk of
// at most 128 KiB for each head and channel (3.6).
Pipeline nvls_pipeline(const NcclModel& model, double bandwidth_gbps) {
  constexpr double kChunkBytes = 128 * 1024;
  const NcclSystem& system = model.system();
  const double round =
      kChunkBytes * nccl_nvls_channels(system) * model.graphs().nvls.channels / 1000;
  const int later = 1 + 2 * nccl_tree_levels(system.nodes);
  return {later, later * round / bandwidth_gbps};
}

NcclModel delivered_model(const NcclSystem& system,
                          const NcclSearchGraphs& graphs,
                          const NcclTables& tables) {
  return {system, delivered(graphs, system), expected(tables)};
}

}  // namespace

NcclSearchGraphs delivered(const NcclSearchGraphs& graphs, const NcclSystem& system) {
  NcclSearchGraphs result = graphs;
  if (system.nodes == 1) {
    const double share = reached_share(system.sm);
    deliver(result.ring, share);
    deliver(result.tree, share);
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
  const bool nvls = algorithm == NcclAlgorithm::kNvls || algorithm == NcclAlgorithm::kNvlsTree;
  if (!cost.allowed || protocol != NcclProtocol::kSimple ||
      (!nvls && algorithm != NcclAlgorithm::kTree)) {
    return 0;
  }
  const Pipeline pipeline =
      nvls ? nvls_pipeline(model, cost.bandwidth_gbps) : tree_pipeline(model);
  if (pipeline.later_stages <= 0) {
    return 0;
  }
  const double transfer_us = static_cast<double>(bytes.count) / (1000 * cost.bandwidth_gbps);
  const double later_latency_us =
      cost.latency_us * pipeline.later_stages / (pipeline.later_stages + 1);
  return std::min({2 * std::sqrt(later_latency_us * transfer_us), pipeline.full_chunks_us,
                   pipeline.later_stages * transfer_us});
}

NcclPrediction::NcclPrediction(const NcclSystem& system,
                               const NcclSearchGraphs& graphs,
                               const NcclTables& tables,
                               const NcclLaunch& launch)
    : own_(system, graphs, tables),
      real_(delivered_model(system, graphs, tables)),
      launches_us_((launch.gpus_per_process - 1) * launch.launch_us) {}

std::optional<NcclChoice> NcclPrediction::predict(CollectiveKind collective,
                                                  Bytes bytes,
                                                  int pipelined) const {
  std::optional<NcclChoice> choice = own_.choose(collective, bytes, pipelined);
  if (!choice || choice->channels == 0) {
    return choice;  // nothing to send
  }
  const std::optional<double> time =
      real_.time_us(collective, choice->algorithm, choice->protocol, bytes, pipelined);
  choice->time_us =
      *time + launches_us_ +
      pipeline_fill_us(real_, collective, choice->algorithm, choice->protocol, bytes);
  return choice;
}

}  // namespace twinrun
