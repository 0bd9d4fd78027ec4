#include "core/nccl/traffic.h"

#include <algorithm>

namespace twinrun {
namespace {

class Loads {
 public:
  Loads(const Topology& topology, const NcclSearch& search, Router& router)
      : topology_(topology), search_(search), router_(router), bytes_(topology.link_count(), 0) {}

  // All channels together carry `bytes` over each hop.
  void add_rings(double bytes) {
    const int channels = search_.graphs.ring.channels;
    for (int c = 0; c < channels; ++c) {
      for (std::size_t m = 0; m < search_.members.size(); ++m) {
        const NcclChannel ring = ring_in(m, c);
        add_chain(m, ring, bytes / channels, false);
        if (ring.enters == NcclChannel::kNoNic) {
          add_wire(m, machine(m).between(ring.gpus.back(), ring.gpus.front()), bytes / channels);
          continue;
        }
        const std::size_t next = (m + 1) % search_.members.size();
        const NcclChannel onward = ring_in(next, c);
        add_wire(m, out_wire(m, ring.gpus.back(), ring.leaves), bytes / channels);
        add_network({m, ring.leaves}, {next, onward.enters}, bytes / channels);
        add_wire(next, in_wire(next, onward), bytes / channels);
      }
    }
  }

  void add_chains() {
    const int channels = search_.graphs.tree.channels;
    for (int c = 0; c < channels; ++c) {
      for (std::size_t m = 0; m < search_.members.size(); ++m) {
        add_chain(m, tree_in(m, c), 1.0 / channels, true);
      }
    }
  }

  // Up and down both trees, half of the bytes in each.
  void add_trees_between() {
    const int nodes = static_cast<int>(search_.members.size());
    const int channels = search_.graphs.tree.channels;
    for (const std::vector<int>& parents :
         {first_tree_parents(nodes), second_tree_parents(nodes)}) {
      for (int node = 0; node < nodes; ++node) {
        const int parent = parents[static_cast<std::size_t>(node)];
        for (int c = 0; parent >= 0 && c < channels; ++c) {
          add_tree_hop(static_cast<std::size_t>(node), static_cast<std::size_t>(parent), c);
          add_tree_hop(static_cast<std::size_t>(parent), static_cast<std::size_t>(node), c);
        }
      }
    }
  }

  // Between every GPU and the NVSwitch.
  void add_switch(double up, double down) {
    for (const NcclMember& member : search_.members) {
      for (const VertexId gpu : member.gpus) {
        add_switch_links(gpu, up, down);
      }
    }
  }

  [[nodiscard]] NcclTraffic collected() const {
    NcclTraffic traffic;
    for (std::size_t l = 0; l < bytes_.size(); ++l) {
      if (bytes_[l] > 0) {
        traffic.share.emplace_back(id_at<LinkId>(l), bytes_[l]);
      }
    }
    return traffic;
  }

 private:
  struct Port {
    std::size_t member;
    int nic;
  };

  [[nodiscard]] const NcclMachineChannels& found(std::size_t m) const {
    return search_.machines[search_.members[m].channels];
  }
  [[nodiscard]] const NcclMachine& machine(std::size_t m) const { return found(m).machine; }

  // A channel that changes NICs runs backwards in every second machine, and so stays on its rails.
  [[nodiscard]] NcclChannel ring_in(std::size_t m, int c) const {
    NcclChannel ring = found(m).rings[static_cast<std::size_t>(c)];
    if (ring.enters != ring.leaves && m % 2 == 1) {
      std::reverse(ring.gpus.begin(), ring.gpus.end());
      std::swap(ring.enters, ring.leaves);
    }
    return ring;
  }
  [[nodiscard]] const NcclChannel& tree_in(std::size_t m, int c) const {
    return found(m).trees[static_cast<std::size_t>(c)];
  }

  [[nodiscard]] const NcclWire& in_wire(std::size_t m, const NcclChannel& channel) const {
    return machine(m).from_nic(static_cast<std::size_t>(channel.enters), channel.gpus.front());
  }
  [[nodiscard]] const NcclWire& out_wire(std::size_t m, std::uint32_t gpu, int nic) const {
    return machine(m).to_nic(gpu, static_cast<std::size_t>(nic));
  }

  void add_wire(std::size_t m, const NcclWire& wire, double bytes) {
    for (const NcclLinkShare& part : wire.links) {
      bytes_[index_of(topology_.link_in(search_.members[m].node, part.link))] += bytes * part.share;
    }
  }

  void add_chain(std::size_t m, const NcclChannel& channel, double bytes, bool both_ways) {
    for (std::size_t i = 1; i < channel.gpus.size(); ++i) {
      add_wire(m, machine(m).between(channel.gpus[i - 1], channel.gpus[i]), bytes);
      if (both_ways) {
        add_wire(m, machine(m).between(channel.gpus[i], channel.gpus[i - 1]), bytes);
      }
    }
  }

  void add_tree_hop(std::size_t from, std::size_t to, int c) {
    const double bytes = 0.5 / search_.graphs.tree.channels;
    const NcclChannel& here = tree_in(from, c);
    const NcclChannel& there = tree_in(to, c);
    const bool plain = found(from).graphs.tree.plain_tree;
    add_wire(from, out_wire(from, plain ? here.gpus.front() : here.gpus.back(), here.enters),
             bytes);
    add_network({from, here.enters}, {to, there.enters}, bytes);
    add_wire(to, in_wire(to, there), bytes);
  }

  // Grouped NICs pair up in order.
  void add_network(Port from, Port to, double bytes) {
    const auto& leaving = machine(from.member).nic(static_cast<std::size_t>(from.nic)).members;
    const auto& entering = machine(to.member).nic(static_cast<std::size_t>(to.nic)).members;
    const std::size_t pairs = std::max(leaving.size(), entering.size());
    for (std::size_t i = 0; i < pairs; ++i) {
      const VertexId out =
          topology_.vertex_in(search_.members[from.member].node, leaving[i % leaving.size()]);
      const VertexId in =
          topology_.vertex_in(search_.members[to.member].node, entering[i % entering.size()]);
      if (const auto route = router_.route(out, in)) {
        for (const LinkId link : route->links) {
          bytes_[index_of(link)] += bytes / static_cast<double>(pairs);
        }
      }
    }
  }

  // Several switches share by their links' bandwidth.
  void add_switch_links(VertexId gpu, double up, double down) {
    double all = 0;
    for (const LinkId link : topology_.links_from(gpu)) {
      if (topology_.kind(topology_.to(link)) == VertexKind::kNvswitch) {
        all += topology_.bandwidth(link).bytes_per_s;
      }
    }
    for (const LinkId link : topology_.links_from(gpu)) {
      if (topology_.kind(topology_.to(link)) == VertexKind::kNvswitch && all > 0) {
        const double part = topology_.bandwidth(link).bytes_per_s / all;
        bytes_[index_of(link)] += up * part;
        bytes_[index_of(topology_.reverse(link))] += down * part;
      }
    }
  }

  const Topology& topology_;
  const NcclSearch& search_;
  Router& router_;
  std::vector<double> bytes_;
};

// Bytes over each hop of a ring, for each byte of the collective.
double bytes_per_hop(CollectiveKind kind, int ranks) {
  const double others = static_cast<double>(ranks - 1) / ranks;
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return 2 * others;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
      return others;
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kReduce:
      return 1;
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kBarrier:
      break;
  }
  return 0;
}

}  // namespace

// Numbered from left to right: 1 and 3 below 2, 2 and 6 below 4. Where the parent would be beyond
// the last node, the node hangs on its left neighbour of a higher level instead.
std::vector<int> first_tree_parents(int nodes) {
  std::vector<int> parents(static_cast<std::size_t>(nodes), -1);
  for (int node = 1; node < nodes; ++node) {
    const int step = node & -node;
    const bool is_left_child = node / step % 4 == 1;
    const int parent = is_left_child ? node + step : node - step;
    parents[static_cast<std::size_t>(node)] = parent < nodes ? parent : node - step;
  }
  return parents;
}

std::vector<int> second_tree_parents(int nodes) {
  const std::vector<int> first = first_tree_parents(nodes);
  std::vector<int> parents(first.size(), -1);
  const auto other = [&](int node) {
    return nodes % 2 == 0 ? nodes - 1 - node : (node + 1) % nodes;
  };
  for (int node = 0; node < nodes; ++node) {
    const int parent = first[static_cast<std::size_t>(node)];
    parents[static_cast<std::size_t>(other(node))] = parent < 0 ? -1 : other(parent);
  }
  return parents;
}

NcclTraffic nccl_traffic(const Topology& topology,
                         const NcclSearch& search,
                         CollectiveKind collective,
                         NcclAlgorithm algorithm,
                         Router& router) {
  Loads loads(topology, search, router);
  const bool several = search.members.size() > 1;
  if (search.system.ranks == 1 || bytes_per_hop(collective, 2) == 0) {
    return {};
  }
  switch (algorithm) {
    case NcclAlgorithm::kTree:
      loads.add_chains();
      break;
    case NcclAlgorithm::kNvls:
    case NcclAlgorithm::kNvlsTree: {
      const double own = 1.0 / search.system.ranks;
      loads.add_switch(collective == CollectiveKind::kAllGather ? own : 1,
                       collective == CollectiveKind::kReduceScatter ? own : 1);
      break;
    }
    case NcclAlgorithm::kRing:
    case NcclAlgorithm::kCollnetDirect:
    case NcclAlgorithm::kCollnetChain:
    case NcclAlgorithm::kPat:
      loads.add_rings(bytes_per_hop(collective, search.system.ranks));
      return loads.collected();
  }
  if (several) {
    loads.add_trees_between();
  }
  return loads.collected();
}

}  // namespace twinrun
