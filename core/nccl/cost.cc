#include "core/nccl/cost.h"

#include <algorithm>

namespace twinrun {
namespace {

bool gathers_or_scatters(CollectiveKind kind) {
  return kind == CollectiveKind::kAllGather || kind == CollectiveKind::kReduceScatter;
}

std::size_t row(NcclAlgorithm algorithm) { return static_cast<std::size_t>(algorithm); }
std::size_t row(NcclProtocol protocol) { return static_cast<std::size_t>(protocol); }

// Steps of a ring; 0 for what NCCL has no collective for.
int ring_steps(CollectiveKind kind, int ranks) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return 2 * (ranks - 1);
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllGather:
      return ranks - 1;
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kReduce:
      return ranks;
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kBarrier:
      break;
  }
  return 0;
}

// ---- what is allowed (3.6) ----

bool ll128_is_safe(const NcclSetting& setting, const NcclSearchGraph& graph) {
  const NcclSystem& system = setting.system;
  // It relies on 128 bytes being stored whole, which PCIe and old GPUs do not promise.
  const bool mixed = system.max_sm != 0 && system.max_sm / 10 != system.sm / 10;
  const NcclPath farthest_nic = system.sm >= 90 ? NcclPath::kPxn : NcclPath::kPxb;
  return system.sm >= 70 && !(mixed && system.sm < 90) && graph.intra_path <= NcclPath::kNvb &&
         (system.nodes == 1 || graph.inter_path <= farthest_nic);
}

bool algorithm_has(NcclAlgorithm algorithm, CollectiveKind kind) {
  const bool reduces_all = kind == CollectiveKind::kAllReduce;
  switch (algorithm) {
    case NcclAlgorithm::kRing:
      return ring_steps(kind, 2) > 0;
    case NcclAlgorithm::kTree:
    case NcclAlgorithm::kCollnetChain:
    case NcclAlgorithm::kNvlsTree:
      return reduces_all;
    case NcclAlgorithm::kCollnetDirect:
    case NcclAlgorithm::kNvls:
      return reduces_all || gathers_or_scatters(kind);
    case NcclAlgorithm::kPat:
      return gathers_or_scatters(kind);
  }
  return false;
}

bool machines_have(const NcclSetting& setting, NcclAlgorithm algorithm) {
  const NcclSystem& system = setting.system;
  const bool nvls = setting.graphs.nvls.channels >= 2;
  switch (algorithm) {
    case NcclAlgorithm::kRing:
    case NcclAlgorithm::kTree:
      return true;
    case NcclAlgorithm::kCollnetDirect:
      return system.has_collnet && system.has_nvswitch;
    case NcclAlgorithm::kCollnetChain:
      return system.has_collnet;
    case NcclAlgorithm::kNvls:
      return nvls && (system.nodes == 1 || system.has_collnet);
    case NcclAlgorithm::kNvlsTree:
      return nvls && system.nodes > 1;
    case NcclAlgorithm::kPat:
      return setting.ranks_per_node() == 1;
  }
  return false;
}

// ---- bandwidth (3.4); all in GB/s of the bus ----

double ll_cap(const NcclSetting& setting) {
  if (setting.system.nodes == 1) {
    return setting.tables.ll_cap_one_node[setting.generation()];
  }
  const bool amd = setting.system.cpu == NcclCpu::kAmd || setting.system.cpu == NcclCpu::kMixed;
  const auto& caps = amd ? setting.tables.ll_cap_amd : setting.tables.ll_cap_intel;
  return caps[setting.nodes_column() - 1];
}

double cap_of(const NcclSetting& setting, const NcclTables::Caps& caps, int channels) {
  return channels * caps[setting.generation()][setting.nodes_column()];
}

// Up to two nodes the network is used once each way, so the speed inside decides.
double plain_bandwidth(const NcclSetting& setting, const NcclSearchGraph& graph, bool collnet) {
  const bool intra = setting.system.nodes <= 2 || collnet;
  return graph.channels * (intra ? graph.intra_gbps : graph.inter_gbps);
}

double ring_bandwidth(const NcclSetting& setting, NcclProtocol protocol) {
  const NcclSearchGraph& graph = setting.graphs.ring;
  const double all = plain_bandwidth(setting, graph, false);
  switch (protocol) {
    case NcclProtocol::kLl:
      return std::min(ll_cap(setting), all / 2);
    case NcclProtocol::kLl128:
      return std::min(0.92 * all, cap_of(setting, setting.tables.ring_ll128_cap, graph.channels));
    case NcclProtocol::kSimple:
      break;
  }
  return all;
}

double tree_bandwidth(const NcclSetting& setting, NcclProtocol protocol) {
  const NcclSearchGraph& graph = setting.graphs.tree;
  double all = std::min(0.92 * plain_bandwidth(setting, graph, false),
                        cap_of(setting, setting.tables.tree_cap, graph.channels));
  if (protocol == NcclProtocol::kLl) {
    all = std::min(all / 3.8, ll_cap(setting));
  } else if (protocol == NcclProtocol::kLl128) {
    const double payload = setting.system.nodes == 1 ? 7.0 / 9 : 15.0 / 16;
    all = std::min(all * payload, cap_of(setting, setting.tables.tree_ll128_cap, graph.channels));
  }
  return graph.plain_tree ? 0.85 * all : all;
}

double nvls_bandwidth(const NcclSetting& setting, const NcclWay& way) {
  const NcclSearchGraph& graph = setting.graphs.nvls;
  const bool tree = way.algorithm == NcclAlgorithm::kNvlsTree;
  const double heads = graph.channels;
  const double gpus = setting.ranks_per_node();
  // The switch reduces and multicasts, so an all-reduce crosses each link once, not twice.
  const double use = way.collective == CollectiveKind::kAllReduce ? 2 : (gpus - 1) / gpus;
  const double intra = graph.intra_gbps * setting.tables.nvls_efficiency[setting.generation()] *
                       (heads - 1) / heads * use;
  const double inter = graph.inter_gbps * (tree && setting.system.nodes <= 2 ? 2 : 1);
  double all = heads * std::min(intra, inter);
  if (tree) {
    all = std::min(all, cap_of(setting, setting.tables.nvls_tree_cap, graph.channels));
  }
  return all;
}

double collnet_direct_bandwidth(const NcclSetting& setting, CollectiveKind kind) {
  const NcclSearchGraph& graph = setting.graphs.collnet;
  const double gpus = setting.ranks_per_node();
  if (gathers_or_scatters(kind)) {
    return gpus * std::min(graph.intra_gbps, 0.9 * graph.inter_gbps);
  }
  const double factor = (1 + gpus / graph.channels) / 2;
  return plain_bandwidth(setting, graph, true) / factor * (setting.system.sm >= 90 ? 0.85 : 1);
}

double bus_bandwidth(const NcclSetting& setting, const NcclWay& way) {
  switch (way.algorithm) {
    case NcclAlgorithm::kTree:
      return tree_bandwidth(setting, way.protocol);
    case NcclAlgorithm::kRing:
      return ring_bandwidth(setting, way.protocol);
    case NcclAlgorithm::kCollnetDirect:
      return collnet_direct_bandwidth(setting, way.collective);
    case NcclAlgorithm::kCollnetChain:
      return plain_bandwidth(setting, setting.graphs.collnet, true);
    case NcclAlgorithm::kNvls:
    case NcclAlgorithm::kNvlsTree:
      return nvls_bandwidth(setting, way);
    case NcclAlgorithm::kPat:
      return 0.75 * plain_bandwidth(setting, graph_of(setting, way.algorithm), false);
  }
  return 0;
}

// ---- latency (3.5) ----

struct Hops {
  double intra = 0;
  double network = 0;
};

Hops hops_of(const NcclSetting& setting, const NcclWay& way) {
  const NcclSearchGraph& graph = graph_of(setting, way.algorithm);
  const NcclTables& tables = setting.tables;
  const bool nvlink = graph.intra_path == NcclPath::kNvl;
  const auto& intra = nvlink ? tables.nvlink_hop : tables.pci_hop;
  // One GPU a node has nothing to hide the network behind: the tree's row for everybody.
  const NcclAlgorithm network_row =
      setting.ranks_per_node() == 1 ? NcclAlgorithm::kTree : way.algorithm;
  const double flushes = way.protocol == NcclProtocol::kSimple ? tables.flush_nic_latencies : 0;
  const double nic = graph.nic_latency_us * (1 + flushes);
  return {intra[row(way.algorithm)][row(way.protocol)],
          tables.network_hop[row(network_row)][row(way.protocol)] + nic};
}

// Broadcast and reduce: the last rank waits one step when the channels are alike, else for all.
double ring_with_root_latency(const NcclSetting& setting, const NcclWay& way) {
  const bool alike = setting.graphs.ring.same_channels;
  const bool as_tree = !alike && way.protocol == NcclProtocol::kSimple;
  const NcclTables& tables = setting.tables;
  const bool nvlink = setting.graphs.ring.intra_path == NcclPath::kNvl;
  const auto& hop = setting.system.nodes > 1 ? tables.network_hop
                    : nvlink                 ? tables.nvlink_hop
                                             : tables.pci_hop;
  const NcclAlgorithm column = as_tree ? NcclAlgorithm::kTree : NcclAlgorithm::kRing;
  return hop[row(column)][row(way.protocol)] * (alike ? 1 : setting.system.ranks);
}

double ring_latency(const NcclSetting& setting, const NcclWay& way) {
  if (has_root(way.collective)) {
    return ring_with_root_latency(setting, way);
  }
  const NcclSystem& system = setting.system;
  const Hops hops = hops_of(setting, way);
  const int steps = ring_steps(way.collective, system.ranks);
  const int network_steps =
      (way.collective == CollectiveKind::kAllReduce ? 2 : 1) * (system.nodes - 1);
  double overhead = 0;
  if (system.nodes > 1) {
    overhead = system.cpu == NcclCpu::kAmd ? setting.tables.network_overhead_amd_us
                                           : setting.tables.network_overhead_us;
    overhead *= way.protocol == NcclProtocol::kSimple ? 3 : 1;
  }
  return (steps - network_steps) * std::max(hops.intra, overhead) + network_steps * hops.network;
}

double collnet_direct_latency(const Hops& hops, int others) {
  return 2 * (std::min(1, others) * hops.intra + 0.4 * others) + hops.network;
}

}  // namespace

std::size_t NcclSetting::generation() const {
  return system.sm >= 100 ? 3 : system.sm >= 90 ? 2 : system.sm >= 80 ? 1 : 0;
}

std::size_t NcclSetting::nodes_column() const {
  return static_cast<std::size_t>(std::min(system.nodes, 3) - 1);
}

const NcclSearchGraph& graph_of(const NcclSetting& setting, NcclAlgorithm algorithm) {
  switch (algorithm) {
    case NcclAlgorithm::kTree:
    case NcclAlgorithm::kPat:
      return setting.graphs.tree;
    case NcclAlgorithm::kRing:
      break;
    case NcclAlgorithm::kCollnetDirect:
    case NcclAlgorithm::kCollnetChain:
      return setting.graphs.collnet;
    case NcclAlgorithm::kNvls:
    case NcclAlgorithm::kNvlsTree:
      return setting.graphs.nvls;
  }
  return setting.graphs.ring;
}

bool nccl_allows(const NcclSetting& setting, const NcclWay& way) {
  const NcclSearchGraph& graph = graph_of(setting, way.algorithm);
  const bool any_protocol =
      way.algorithm == NcclAlgorithm::kRing || way.algorithm == NcclAlgorithm::kTree;
  if (graph.channels == 0 || !algorithm_has(way.algorithm, way.collective) ||
      !machines_have(setting, way.algorithm) ||
      (!any_protocol && way.protocol != NcclProtocol::kSimple)) {
    return false;
  }
  if (setting.system.nodes > 1 && !setting.system.network_in_order &&
      way.protocol != NcclProtocol::kSimple) {
    return false;  // both others take the last byte for a sign that all have arrived
  }
  return way.protocol != NcclProtocol::kLl128 || ll128_is_safe(setting, graph);
}

double nccl_bandwidth(const NcclSetting& setting, const NcclWay& way) {
  const bool ring = way.algorithm == NcclAlgorithm::kRing;
  const double bus = bus_bandwidth(setting, way);
  if (!ring && gathers_or_scatters(way.collective)) {
    return bus;
  }
  if (ring || way.algorithm == NcclAlgorithm::kNvls || way.algorithm == NcclAlgorithm::kNvlsTree) {
    return bus * setting.system.ranks / ring_steps(way.collective, setting.system.ranks);
  }
  return bus / 2;
}

double nccl_latency_us(const NcclSetting& setting, const NcclWay& way) {
  const int nodes = setting.system.nodes;
  const int others = setting.ranks_per_node() - 1;
  const double base = setting.tables.base[row(way.algorithm)][row(way.protocol)];
  const Hops hops = hops_of(setting, way);
  switch (way.algorithm) {
    case NcclAlgorithm::kTree:
      return base + 2 * (others * hops.intra + nccl_tree_levels(nodes) * hops.network);
    case NcclAlgorithm::kRing:
      return base + ring_latency(setting, way);
    case NcclAlgorithm::kCollnetDirect:
      return base + collnet_direct_latency(hops, others);
    case NcclAlgorithm::kCollnetChain:
      return base + 2 * others * hops.intra + hops.network;
    case NcclAlgorithm::kNvls:
      return base + hops.intra + (nodes > 1 ? hops.network : 0);
    case NcclAlgorithm::kNvlsTree:
      return base + hops.intra + 2 * nccl_tree_levels(nodes) * hops.network;
    case NcclAlgorithm::kPat:
      return base + nccl_tree_levels(nodes) * hops.network / 3.5 + 2.8 * setting.system.ranks;
  }
  return base;
}

}  // namespace twinrun
