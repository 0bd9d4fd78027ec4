#include "core/nccl/machine_search.h"

#include <algorithm>
#include <set>

#include "core/nccl/channel_speeds.h"

namespace twinrun {
namespace {

// A speed below this share of the best one's is not tried, even if its channels would add up to a
// little more.
constexpr double kSlowestShare = 0.49;
constexpr int kMostRings = 32;
// A channel this fast is too much for one thread block. Newer GPUs bear more when there are many.
constexpr double kSplitFrom = 25;
constexpr double kSplitFromManyAfterAmpere = 50;
constexpr int kMany = 4;

// ---- what a channel passes ----

// Whether a tree of this channel leaves by the GPU it enters by (plain) or by its last GPU.
enum class TreeShape : std::uint8_t { kBalanced, kPlain };

const NcclWire& way_in(const NcclMachine& machine, const NcclChannel& channel) {
  return machine.from_nic(static_cast<std::size_t>(channel.enters), channel.gpus.front());
}

const NcclWire& ring_way_out(const NcclMachine& machine, const NcclChannel& channel) {
  return machine.to_nic(channel.gpus.back(), static_cast<std::size_t>(channel.leaves));
}

const NcclWire& tree_way_out(const NcclMachine& machine,
                             const NcclChannel& channel,
                             TreeShape shape) {
  const std::uint32_t gpu = shape == TreeShape::kPlain ? channel.gpus.front() : channel.gpus.back();
  return machine.to_nic(gpu, static_cast<std::size_t>(channel.enters));
}

bool draw_chain(NcclLedger& ledger,
                const NcclMachine& machine,
                const NcclChannel& channel,
                double gbps) {
  bool fits = true;
  for (std::size_t i = 1; fits && i < channel.gpus.size(); ++i) {
    fits = ledger.take(machine.between(channel.gpus[i - 1], channel.gpus[i]), gbps);
  }
  return fits;
}

bool rings_fit(const NcclMachine& machine, const std::vector<NcclChannel>& rings, double gbps) {
  NcclLedger ledger(machine);
  return std::all_of(rings.begin(), rings.end(), [&](const NcclChannel& ring) {
    const bool networked = ring.enters != NcclChannel::kNoNic;
    const bool closes =
        networked ? ledger.take(way_in(machine, ring), gbps) &&
                        ledger.take(ring_way_out(machine, ring), gbps)
                  : ring.gpus.size() == 1 ||
                        ledger.take(machine.between(ring.gpus.back(), ring.gpus.front()), gbps);
    return closes && draw_chain(ledger, machine, ring, gbps);
  });
}

bool trees_fit(const NcclMachine& machine,
               const std::vector<NcclChannel>& trees,
               TreeShape shape,
               double intra,
               double inter) {
  NcclLedger ledger(machine);
  return std::all_of(trees.begin(), trees.end(), [&](const NcclChannel& tree) {
    const bool networked = tree.enters != NcclChannel::kNoNic;
    return (!networked || (ledger.take(way_in(machine, tree), inter) &&
                           ledger.take(tree_way_out(machine, tree, shape), inter))) &&
           draw_chain(ledger, machine, tree, intra);
  });
}

bool all_alike(const std::vector<NcclChannel>& channels) {
  return std::all_of(channels.begin(), channels.end(), [&](const NcclChannel& channel) {
    return channel.gpus == channels.front().gpus;
  });
}

template <class Function>
void for_each_inner_hop(const NcclMachine& machine,
                        const std::vector<NcclChannel>& channels,
                        bool closed,
                        Function function) {
  for (const NcclChannel& channel : channels) {
    for (std::size_t i = 1; i < channel.gpus.size(); ++i) {
      function(machine.between(channel.gpus[i - 1], channel.gpus[i]));
    }
    if (closed && channel.enters == NcclChannel::kNoNic) {
      function(machine.between(channel.gpus.back(), channel.gpus.front()));
    }
  }
}

void describe_hops(NcclSearchGraph& graph,
                   const NcclMachine& machine,
                   const std::vector<NcclChannel>& channels,
                   bool closed) {
  for_each_inner_hop(machine, channels, closed, [&](const NcclWire& wire) {
    graph.intra_path = std::max(graph.intra_path, wire.path);
    graph.through_host = graph.through_host || wire.through_host;
  });
  graph.same_channels = all_alike(channels);
  graph.nic_latency_us = machine.nic_latency_us();
}

// The largest share of its capacity that channels of this speed take anywhere.
double fullest_link(const NcclMachine& machine,
                    const std::vector<NcclChannel>& channels,
                    double gbps,
                    bool ring) {
  NcclLedger ledger(machine);
  for_each_inner_hop(machine, channels, ring,
                     [&](const NcclWire& wire) { ledger.force(wire, gbps); });
  for (const NcclChannel& channel : channels) {
    if (ring && channel.enters != NcclChannel::kNoNic) {
      ledger.force(way_in(machine, channel), gbps);
      ledger.force(ring_way_out(machine, channel), gbps);
    }
  }
  return ledger.fullest(machine);
}

// ---- rings ----

struct Found {
  std::vector<NcclChannel> channels;
  double gbps = 0;
  [[nodiscard]] double total() const { return gbps * static_cast<double>(channels.size()); }
};

// The speed whose channels add up to most; of equals the fastest.
Found best_speed(const NcclMachine& machine, NcclChannelLimits limits) {
  Found best;
  for (const double gbps : channel_speeds(machine.sm(), machine.nic_count() > 0)) {
    limits.intra_gbps = gbps;
    limits.inter_gbps = gbps;
    if (gbps <= kSlowestShare * best.gbps) {
      break;
    }
    if (most_channels(machine, limits) * gbps <= best.total()) {
      continue;
    }
    Found found{pack_channels(machine, limits), gbps};
    if (found.total() > best.total()) {
      best = std::move(found);
    }
  }
  return best;
}

// The classes that occur, nearest first.
std::set<NcclPath> classes_inside(const NcclMachine& machine) {
  std::set<NcclPath> classes;
  for (std::size_t a = 0; a < machine.gpu_count(); ++a) {
    for (std::size_t b = 0; b < machine.gpu_count(); ++b) {
      if (a != b && machine.between(a, b).path < NcclPath::kNet) {
        classes.insert(machine.between(a, b).path);
      }
    }
  }
  if (machine.gpu_count() == 1) {
    classes.insert(NcclPath::kLoc);
  }
  return classes;
}

std::set<NcclPath> classes_to_nics(const NcclMachine& machine) {
  std::set<NcclPath> classes;
  for (std::size_t n = 0; n < machine.nic_count(); ++n) {
    for (std::size_t g = 0; g < machine.gpu_count(); ++g) {
      classes.insert(machine.from_nic(n, g).path);
      classes.insert(machine.to_nic(g, n).path);
    }
  }
  classes.erase(NcclPath::kNet);
  classes.erase(NcclPath::kDis);
  if (classes.empty()) {
    classes.insert(NcclPath::kLoc);  // no network to reach
  }
  return classes;
}

// Ways to set the limits, best first. The nearest classes at which there is a ring at all decide: a
// ring over NVLink is not given up for one that would also use PCIe. A channel that comes and goes
// by the same NIC is preferred to one that changes NICs, and that to one that reaches farther.
std::vector<NcclChannelLimits> limits_to_try(const NcclMachine& machine) {
  std::vector<NcclChannelLimits> all;
  NcclChannelLimits limits;
  limits.most = kMostRings;
  for (const NcclPath intra : classes_inside(machine)) {
    limits.worst_intra = intra;
    for (const NcclPath inter : classes_to_nics(machine)) {
      limits.worst_inter = inter;
      limits.may_cross_nics = false;
      all.push_back(limits);
      limits.may_cross_nics = true;
      all.push_back(limits);
    }
  }
  return all;
}

// One ring as fast as its links allow, where every listed speed is too fast for them.
Found slowest_ring(const NcclMachine& machine) {
  constexpr double kCrawl = 0.001;
  for (NcclChannelLimits limits : limits_to_try(machine)) {
    limits.intra_gbps = kCrawl;
    limits.inter_gbps = kCrawl;
    limits.most = 1;
    Found found{pack_channels(machine, limits), kCrawl};
    if (!found.channels.empty()) {
      found.gbps /= fullest_link(machine, found.channels, kCrawl, true);
      return found;
    }
  }
  return {};
}

Found best_rings(const NcclMachine& machine) {
  for (const NcclChannelLimits& limits : limits_to_try(machine)) {
    if (limits.may_cross_nics && machine.nic_count() < 2) {
      continue;
    }
    Found found = best_speed(machine, limits);
    if (!found.channels.empty()) {
      return found;
    }
  }
  return slowest_ring(machine);
}

void split_fast_channels(const NcclMachine& machine, Found& found) {
  const int count = static_cast<int>(found.channels.size());
  const double from = machine.sm() > 80 && count > kMany ? kSplitFromManyAfterAmpere : kSplitFrom;
  if (found.gbps < from || 2 * count > kMostRings) {
    return;
  }
  found.gbps /= 2;
  std::vector<NcclChannel> twice;
  for (const NcclChannel& channel : found.channels) {
    twice.insert(twice.end(), 2, channel);
  }
  found.channels = std::move(twice);
}

void raise_speed(const NcclMachine& machine, Found& found) {
  for (const double gbps : channel_speeds(machine.sm(), machine.nic_count() > 0)) {
    if (gbps > found.gbps && rings_fit(machine, found.channels, gbps)) {
      found.gbps = gbps;
      return;
    }
  }
}

NcclSearchGraph ring_graph(const NcclMachine& machine, const Found& rings) {
  NcclSearchGraph graph;
  graph.channels = static_cast<int>(rings.channels.size());
  graph.intra_gbps = rings.gbps;
  graph.inter_gbps = rings.gbps;
  describe_hops(graph, machine, rings.channels, true);
  for (const NcclChannel& ring : rings.channels) {
    if (ring.enters != NcclChannel::kNoNic) {
      graph.inter_path = std::max(
          {graph.inter_path, way_in(machine, ring).path, ring_way_out(machine, ring).path});
    }
  }
  return graph;
}

// ---- trees ----

// A chain is the ring's channel without the hop that closes it. Inside one machine every second one
// may run backwards: where two GPUs have one link, chains one way leave the other way idle.
struct TreeFound {
  std::vector<NcclChannel> channels;
  TreeShape shape = TreeShape::kBalanced;
  double intra = 0;
  double inter = 0;
};

// At most twice the speed of the rings, and that one where nothing listed fits.
double fastest_trees(const NcclMachine& machine, const TreeFound& trees, double own) {
  for (const double gbps : channel_speeds(machine.sm(), machine.nic_count() > 0)) {
    if (gbps <= 2 * own && trees_fit(machine, trees.channels, trees.shape, gbps, trees.inter)) {
      return gbps;
    }
  }
  return trees_fit(machine, trees.channels, trees.shape, own, trees.inter) ? own : 0;
}

TreeFound trees_inside(const NcclMachine& machine, const Found& rings) {
  TreeFound forward{rings.channels, TreeShape::kBalanced, 0, 0};
  TreeFound alternating = forward;
  for (std::size_t i = 1; i < alternating.channels.size(); i += 2) {
    std::reverse(alternating.channels[i].gpus.begin(), alternating.channels[i].gpus.end());
  }
  forward.intra = fastest_trees(machine, forward, rings.gbps);
  alternating.intra = fastest_trees(machine, alternating, rings.gbps);
  TreeFound& best = alternating.intra > forward.intra ? alternating : forward;
  best.inter = best.intra;
  return best;
}

// The network's traffic is on two GPUs where both reach the channel's NIC, on one where the ring
// had to change NICs. Inside, chains are raised to twice the network's speed at most, because each
// hop may have to carry what two neighbours of the tree send.
TreeFound trees_between(const NcclMachine& machine, const Found& rings) {
  TreeFound found{rings.channels, TreeShape::kBalanced, 0, rings.gbps};
  const bool same_nic = std::all_of(rings.channels.begin(), rings.channels.end(),
                                    [](const NcclChannel& c) { return c.enters == c.leaves; });
  const bool plain_first = machine.gpu_count() == 1 || (!same_nic && machine.sm() >= 90);
  for (const TreeShape shape : {plain_first ? TreeShape::kPlain : TreeShape::kBalanced,
                                plain_first ? TreeShape::kBalanced : TreeShape::kPlain}) {
    found.shape = shape;
    found.intra = fastest_trees(machine, found, rings.gbps);
    if (found.intra > 0) {
      return found;
    }
  }
  return found;
}

NcclSearchGraph tree_graph(const NcclMachine& machine, const TreeFound& trees) {
  NcclSearchGraph graph;
  if (trees.intra == 0) {
    return graph;
  }
  graph.channels = static_cast<int>(trees.channels.size());
  graph.intra_gbps = trees.intra;
  graph.inter_gbps = trees.inter;
  describe_hops(graph, machine, trees.channels, false);
  graph.plain_tree = trees.shape == TreeShape::kPlain;
  for (const NcclChannel& tree : trees.channels) {
    if (tree.enters != NcclChannel::kNoNic) {
      graph.inter_path = std::max({graph.inter_path, way_in(machine, tree).path,
                                   tree_way_out(machine, tree, trees.shape).path});
    }
  }
  return graph;
}

// ---- NVLS ----

// One head a GPU; each GPU's link to the switch carries all heads. Towards the network the heads
// share what the rings get; without a network the figure is only a bound, twice the inside speed.
NcclSearchGraph nvls_graph(const NcclMachine& machine, const NcclSearchGraph& ring) {
  constexpr int kOldestWithNvls = 90;
  NcclSearchGraph graph;
  if (machine.sm() < kOldestWithNvls || !machine.on_nvswitch() || machine.gpu_count() < 2) {
    return graph;
  }
  const bool networked = machine.nic_count() > 0;
  const auto heads = static_cast<double>(machine.gpu_count());
  graph = ring;
  graph.channels = static_cast<int>(machine.gpu_count());
  graph.intra_gbps =
      fastest_listed(channel_speeds(machine.sm(), false), machine.nvswitch_gbps() / heads);
  graph.inter_gbps =
      networked ? fastest_listed(channel_speeds(machine.sm(), true),
                                 ring.inter_gbps * ring.channels / heads)
                : fastest_listed(channel_speeds(machine.sm(), false), 2 * graph.intra_gbps);
  return graph.intra_gbps > 0 && graph.inter_gbps > 0 ? graph : NcclSearchGraph{};
}

// ---- what the links would allow ----

void fill_links(NcclSearchGraph& graph,
                const NcclMachine& machine,
                const std::vector<NcclChannel>& channels,
                bool ring) {
  const double fullest = fullest_link(machine, channels, graph.intra_gbps, ring);
  if (graph.channels > 0 && fullest > 0) {
    graph.intra_gbps /= fullest;
    graph.inter_gbps = graph.intra_gbps;
  }
}

}  // namespace

std::optional<NcclMachineChannels> search_machine(NcclMachine machine) {
  if (machine.gpu_count() == 1 && machine.nic_count() == 0) {
    return NcclMachineChannels{std::move(machine), {}, {}, {}, {}};
  }
  Found rings = best_rings(machine);
  if (rings.channels.empty()) {
    return std::nullopt;
  }
  split_fast_channels(machine, rings);
  raise_speed(machine, rings);
  const TreeFound trees =
      machine.nic_count() > 0 ? trees_between(machine, rings) : trees_inside(machine, rings);
  NcclSearchGraphs graphs;
  graphs.ring = ring_graph(machine, rings);
  graphs.tree = tree_graph(machine, trees);
  graphs.nvls = nvls_graph(machine, graphs.ring);
  NcclSearchGraphs filled = graphs;
  if (machine.nic_count() == 0) {
    fill_links(filled.ring, machine, rings.channels, true);
    fill_links(filled.tree, machine, trees.channels, false);
  }
  return NcclMachineChannels{std::move(machine), rings.channels, trees.channels, graphs, filled};
}

}  // namespace twinrun
