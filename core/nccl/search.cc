#include "core/nccl/search.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_set>

#include <fmt/format.h>

#include "core/nccl/machine_search.h"

namespace twinrun {
namespace {

NcclSearchGraph least(const NcclSearchGraph& a, const NcclSearchGraph& b) {
  NcclSearchGraph both = a;
  both.channels = std::min(a.channels, b.channels);
  both.intra_gbps = std::min(a.intra_gbps, b.intra_gbps);
  both.inter_gbps = std::min(a.inter_gbps, b.inter_gbps);
  both.intra_path = std::max(a.intra_path, b.intra_path);
  both.inter_path = std::max(a.inter_path, b.inter_path);
  both.plain_tree = a.plain_tree || b.plain_tree;
  both.through_host = a.through_host || b.through_host;
  both.same_channels = a.same_channels && b.same_channels;
  both.nic_latency_us = std::max(a.nic_latency_us, b.nic_latency_us);
  return both;
}

NcclSearchGraphs least(const NcclSearchGraphs& a, const NcclSearchGraphs& b) {
  return {least(a.ring, b.ring), least(a.tree, b.tree), least(a.nvls, b.nvls),
          least(a.collnet, b.collnet)};
}

// What makes two machines alike to the search: shape, GPUs, and the rates of the wires at the NICs,
// which belong to the fabric.
using MachineKey = std::tuple<std::uint32_t, std::vector<std::uint32_t>, std::vector<double>>;

std::vector<double> wire_rates(const Topology& topology, NodeId node) {
  std::vector<double> rates;
  const NodeShape& shape = topology.shape(node);
  for (const std::uint32_t nic : shape.of_kind(VertexKind::kNic)) {
    rates.push_back(nccl_network_gbps(topology, topology.vertex_in(node, nic)));
  }
  return rates;
}

std::optional<NcclRefusal> complaint_about(const Topology& topology,
                                           std::span<const VertexId> ranks) {
  if (ranks.empty()) {
    return NcclRefusal{"there are no ranks"};
  }
  std::unordered_set<std::uint32_t> seen;
  for (const VertexId rank : ranks) {
    if (topology.kind(rank) != VertexKind::kGpu) {
      return NcclRefusal{fmt::format("NCCL runs on GPUs, and {} is a {}", topology.name(rank),
                                     word(topology.kind(rank)))};
    }
    if (!seen.insert(static_cast<std::uint32_t>(rank)).second) {
      return NcclRefusal{fmt::format("{} is named twice", topology.name(rank))};
    }
  }
  return std::nullopt;
}

// The machines in the order of their first rank, the GPUs of each in their own order.
std::vector<NcclMember> members_of(const Topology& topology, std::span<const VertexId> ranks) {
  std::vector<NcclMember> members;
  std::map<NodeId, std::size_t> place;
  for (const VertexId rank : ranks) {
    const NodeId node = topology.node_of(rank);
    const auto [found, added] = place.emplace(node, members.size());
    if (added) {
      members.push_back({node, {}, 0});
    }
    members[found->second].gpus.push_back(rank);
  }
  for (NcclMember& member : members) {
    std::sort(member.gpus.begin(), member.gpus.end());
  }
  return members;
}

// Vertices that network wires join to a machine's NICs.
std::vector<bool> reached_from(const Topology& topology, NodeId node) {
  std::vector<bool> reached(topology.vertex_count(), false);
  std::vector<VertexId> open;
  const NodeShape& shape = topology.shape(node);
  for (const std::uint32_t nic : shape.of_kind(VertexKind::kNic)) {
    open.push_back(topology.vertex_in(node, nic));
    reached[index_of(open.back())] = true;
  }
  while (!open.empty()) {
    const VertexId at = open.back();
    open.pop_back();
    for (const LinkId link : topology.links_from(at)) {
      const VertexId to = topology.to(link);
      if (topology.link_kind(link) == LinkKind::kNetwork && !topology.failed(link) &&
          !reached[index_of(to)]) {
        reached[index_of(to)] = true;
        open.push_back(to);
      }
    }
  }
  return reached;
}

std::optional<NcclRefusal> complaint_about_network(const Topology& topology,
                                                   const std::vector<NcclMember>& members) {
  const std::vector<bool> reached = reached_from(topology, members.front().node);
  for (const NcclMember& member : members) {
    const std::vector<double> rates = wire_rates(topology, member.node);
    if (std::all_of(rates.begin(), rates.end(), [](double rate) { return rate == 0; })) {
      return NcclRefusal{
          fmt::format("{} has no NIC on a network", topology.node_name(member.node))};
    }
    bool near = false;
    for (const std::uint32_t nic : topology.shape(member.node).of_kind(VertexKind::kNic)) {
      near = near || reached[index_of(topology.vertex_in(member.node, nic))];
    }
    if (!near) {
      return NcclRefusal{fmt::format("no network joins {} and {}",
                                     topology.node_name(members.front().node),
                                     topology.node_name(member.node))};
    }
  }
  return std::nullopt;
}

NcclRefusal unjoined(const Topology& topology, const NcclMember& member, bool with_network) {
  return {fmt::format("the GPUs of {} ({} …) are not joined to each other{}",
                      topology.node_name(member.node), topology.name(member.gpus.front()),
                      with_network ? " and to a NIC" : "")};
}

class WholeSearch {
 public:
  WholeSearch(const Topology& topology, std::vector<NcclMember> members) : topology_(topology) {
    result_.members = std::move(members);
  }

  std::variant<NcclSearch, NcclRefusal> run() {
    for (NcclMember& member : result_.members) {
      if (!search(member)) {
        return unjoined(topology_, member, networked());
      }
      result_.system.ranks += static_cast<int>(member.gpus.size());
    }
    sum_up();
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool networked() const { return result_.members.size() > 1; }

  bool search(NcclMember& member) {
    const std::uint32_t base = topology_.node(member.node).first_vertex;
    std::vector<std::uint32_t> gpus;
    for (const VertexId gpu : member.gpus) {
      gpus.push_back(static_cast<std::uint32_t>(gpu) - base);
    }
    MachineKey key{topology_.node(member.node).shape, gpus, wire_rates(topology_, member.node)};
    const auto found = known_.find(key);
    if (found != known_.end()) {
      member.channels = found->second;
      return true;
    }
    auto channels =
        search_machine(NcclMachine(topology_, member.node, std::move(gpus), networked()));
    if (!channels) {
      return false;
    }
    member.channels = result_.machines.size();
    known_.emplace(std::move(key), member.channels);
    result_.machines.push_back(std::move(*channels));
    return true;
  }

  void sum_up() {
    NcclSystem& system = result_.system;
    const NcclMachineChannels& first = result_.machines.front();
    system.ranks -= 1;  // counted from the default of one
    system.nodes = static_cast<int>(result_.members.size());
    system.sm = first.machine.sm();
    system.max_sm = first.machine.max_sm();
    system.cpu = first.machine.cpu();
    system.has_nvswitch = true;
    result_.graphs = first.graphs;
    result_.filled = first.filled;
    for (const NcclMachineChannels& machine : result_.machines) {
      system.sm = std::min(system.sm, machine.machine.sm());
      system.max_sm = std::max(system.max_sm, machine.machine.max_sm());
      system.cpu = system.cpu == machine.machine.cpu() ? system.cpu : NcclCpu::kMixed;
      system.network_in_order = system.network_in_order && machine.machine.network_in_order();
      system.network_is_tcp = system.network_is_tcp || machine.machine.network_is_tcp();
      system.has_nvswitch = system.has_nvswitch && machine.machine.on_nvswitch();
      result_.graphs = least(result_.graphs, machine.graphs);
      result_.filled = least(result_.filled, machine.filled);
    }
  }

  const Topology& topology_;
  NcclSearch result_;
  std::map<MachineKey, std::size_t> known_;
};

}  // namespace

std::variant<NcclSearch, NcclRefusal> search_channels(const Topology& topology,
                                                      std::span<const VertexId> ranks) {
  if (auto refusal = complaint_about(topology, ranks)) {
    return *refusal;
  }
  std::vector<NcclMember> members = members_of(topology, ranks);
  if (members.size() > 1) {
    if (auto refusal = complaint_about_network(topology, members)) {
      return *refusal;
    }
  }
  return WholeSearch(topology, std::move(members)).run();
}

}  // namespace twinrun
