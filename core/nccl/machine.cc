#include "core/nccl/machine.h"

#include <algorithm>
#include <map>

#include "core/topology/node_routes.h"

namespace twinrun {
namespace {

// GPU-to-GPU traffic through an Intel root complex costs this share of its PCIe links.
constexpr double kIntelRootToll = 6.0 / 5;
// Acknowledgements of what a NIC writes into GPUs before sm80. They are counted on the GPU's own
// link: a DGX-1 enters by one GPU of a switch and leaves by the other at the full 12 GB/s, a single
// GPU has room for 10 (cuda-nccl-cpu 3.7).
constexpr double kReverseToll = 1.0 / 8;
constexpr int kNoReverseTollFrom = 80;

NcclCpu cpu_of_vendor(const std::string& vendor) {
  return vendor == "intel" ? NcclCpu::kIntel : vendor == "amd" ? NcclCpu::kAmd : NcclCpu::kOther;
}

}  // namespace

// Fills a machine in; keeps what only construction needs.
class NcclMachine::Reader {
 public:
  Reader(const Topology& topology, NodeId node, NcclMachine& machine)
      : topology_(topology),
        node_(node),
        shape_(topology.shape(node)),
        routes_(shape_),
        machine_(machine) {}

  void read(bool with_network) {
    machine_.link_count_ = shape_.links.size();
    for (const NodeShape::Link& link : shape_.links) {
      machine_.capacities_.push_back(link.failed ? 0 : to_gigabytes_per_second(link.bandwidth));
    }
    read_devices();
    read_gpu_pairs();
    if (with_network) {
      group_nics();
      read_nic_ways();
    }
  }

 private:
  [[nodiscard]] const DeviceSpec* device(std::uint32_t local) const {
    return topology_.device(topology_.vertex_in(node_, local));
  }
  [[nodiscard]] const NodeShape::Link& link(std::uint32_t local) const {
    return shape_.links[local];
  }
  [[nodiscard]] bool is(std::uint32_t vertex, VertexKind kind) const {
    return shape_.vertices[vertex].kind == kind;
  }

  void read_devices() {
    machine_.nvswitch_gbps_ = 1e9;
    for (const std::uint32_t gpu : machine_.gpus_) {
      const DeviceSpec* spec = device(gpu);
      const int sm = spec != nullptr ? spec->sm : 0;
      machine_.sm_ = machine_.max_sm_ == 0 ? sm : std::min(machine_.sm_, sm);
      machine_.max_sm_ = std::max(machine_.max_sm_, sm);
      double to_switch = 0;
      for (std::size_t l = 0; l < shape_.links.size(); ++l) {
        if (shape_.links[l].from == gpu && is(shape_.links[l].to, VertexKind::kNvswitch)) {
          to_switch += machine_.capacities_[l];
        }
      }
      machine_.nvswitch_gbps_ = std::min(machine_.nvswitch_gbps_, to_switch);
    }
    bool first = true;
    for (const std::uint32_t cpu : shape_.of_kind(VertexKind::kCpu)) {
      const DeviceSpec* spec = device(cpu);
      const NcclCpu kind = cpu_of_vendor(spec != nullptr ? spec->vendor : "");
      machine_.cpu_ = first || machine_.cpu_ == kind ? kind : NcclCpu::kMixed;
      first = false;
    }
  }

  // Memory buses are not counted: NCCL does not know them, and they are wider than what they serve.
  void add_links(NcclWire& wire, const std::vector<std::uint32_t>& links, double share) const {
    for (const std::uint32_t l : links) {
      wire.links.push_back({l, share});
      if (link(l).kind != LinkKind::kBus) {
        wire.tolls.push_back({link(l).capacity_owner, share});
      }
    }
  }

  // GPUDirect and P2P by the machine's rules, else through host memory.
  NcclWire wire_between(std::uint32_t from, std::uint32_t to) {
    NcclWire wire;
    if (const auto route = routes_.route(from, to)) {
      wire.path = nccl_path(route->path);
      wire.through_host = route->through_host;
      add_links(wire, route->links, 1);
    }
    return wire;
  }

  void charge_intel_root(NcclWire& wire) const {
    const bool passes_intel =
        std::any_of(wire.links.begin(), wire.links.end(), [&](const NcclLinkShare& l) {
          const DeviceSpec* spec = device(link(l.link).to);
          return is(link(l.link).to, VertexKind::kCpu) && spec != nullptr &&
                 spec->vendor == "intel";
        });
    for (NcclToll& toll : wire.tolls) {
      if (passes_intel && link(toll.capacity).kind == LinkKind::kPcie) {
        toll.gbps *= kIntelRootToll;
      }
    }
  }

  void read_gpu_pairs() {
    const std::size_t n = machine_.gpus_.size();
    machine_.between_.resize(n * n);
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t b = 0; b < n; ++b) {
        NcclWire& wire = machine_.between_[a * n + b];
        if (a == b) {
          wire.path = NcclPath::kLoc;
        } else {
          wire = wire_between(machine_.gpus_[a], machine_.gpus_[b]);
          charge_intel_root(wire);
        }
      }
    }
    relay_over_nvlink();
  }

  [[nodiscard]] double width(const NcclWire& wire) const {
    double narrowest = 1e9;
    for (const NcclToll& toll : wire.tolls) {
      narrowest = std::min(narrowest, machine_.capacities_[toll.capacity] / toll.gbps);
    }
    return narrowest;
  }

  // Pairs without NVLink of their own take the widest way through one other GPU (NVB).
  void relay_over_nvlink() {
    const std::size_t n = machine_.gpus_.size();
    const std::vector<NcclWire> direct = machine_.between_;
    for (std::size_t pair = 0; pair < n * n; ++pair) {
      if (direct[pair].path > NcclPath::kNvb) {
        relay(direct, pair / n, pair % n);
      }
    }
  }

  void relay(const std::vector<NcclWire>& direct, std::size_t from, std::size_t to) {
    const std::size_t n = machine_.gpus_.size();
    double best = 0;
    for (std::size_t via = 0; via < n; ++via) {
      const NcclWire& there = direct[from * n + via];
      const NcclWire& onward = direct[via * n + to];
      const double both = std::min(width(there), width(onward));
      if (there.path == NcclPath::kNvl && onward.path == NcclPath::kNvl && both > best) {
        best = both;
        machine_.between_[from * n + to] = joined(there, onward, NcclPath::kNvb);
      }
    }
  }

  static NcclWire joined(const NcclWire& first, const NcclWire& second, NcclPath path) {
    NcclWire wire = first;
    wire.path = path;
    wire.links.insert(wire.links.end(), second.links.begin(), second.links.end());
    wire.tolls.insert(wire.tolls.end(), second.tolls.begin(), second.tolls.end());
    return wire;
  }

  [[nodiscard]] double network_gbps(std::uint32_t nic) const {
    return nccl_network_gbps(topology_, topology_.vertex_in(node_, nic));
  }

  // The vertex a device's first PCIe link leads to; itself when there is none.
  [[nodiscard]] std::uint32_t seat_of(std::uint32_t vertex) const {
    for (const NodeShape::Link& l : shape_.links) {
      if (l.from == vertex && l.kind == LinkKind::kPcie) {
        return l.to;
      }
    }
    return vertex;
  }

  void group_nics() {
    std::map<std::uint32_t, std::vector<std::uint32_t>> nics_at;
    std::map<std::uint32_t, std::size_t> gpus_at;
    for (const std::uint32_t nic : shape_.of_kind(VertexKind::kNic)) {
      if (network_gbps(nic) > 0) {
        nics_at[seat_of(nic)].push_back(nic);
      }
    }
    for (const std::uint32_t gpu : shape_.of_kind(VertexKind::kGpu)) {
      ++gpus_at[seat_of(gpu)];
    }
    for (const auto& [seat, nics] : nics_at) {
      const std::size_t gpus = gpus_at.contains(seat) ? gpus_at[seat] : nics.size();
      const std::size_t each =
          gpus < nics.size() && nics.size() % gpus == 0 ? nics.size() / gpus : 1;
      for (std::size_t first = 0; first < nics.size(); first += each) {
        const auto begin = nics.begin() + static_cast<std::ptrdiff_t>(first);
        machine_.nics_.push_back({{begin, begin + static_cast<std::ptrdiff_t>(each)}});
      }
    }
    std::sort(machine_.nics_.begin(), machine_.nics_.end(),
              [](const NcclNic& a, const NcclNic& b) { return a.members < b.members; });
    for (const NcclNic& nic : machine_.nics_) {
      double sum = 0;
      for (const std::uint32_t member : nic.members) {
        sum += network_gbps(member);
        if (const DeviceSpec* spec = device(member)) {
          machine_.nic_latency_us_ =
              std::max(machine_.nic_latency_us_, 2 * to_microseconds(spec->latency));
          machine_.network_in_order_ = machine_.network_in_order_ && spec->in_order;
          machine_.network_is_tcp_ = machine_.network_is_tcp_ || spec->is_tcp;
        }
      }
      machine_.capacities_.insert(machine_.capacities_.end(), {sum, sum});
    }
  }

  // All members of a group share the traffic evenly.
  NcclWire wire_with_nic(std::uint32_t gpu, const NcclNic& nic, bool arriving) {
    NcclWire wire;
    wire.path = NcclPath::kLoc;
    for (const std::uint32_t member : nic.members) {
      const auto route = arriving ? routes_.route(member, gpu) : routes_.route(gpu, member);
      if (!route) {
        return {};
      }
      wire.path = std::max(wire.path, nccl_path(route->path));
      add_links(wire, route->links, 1.0 / static_cast<double>(nic.members.size()));
    }
    if (arriving && machine_.sm_ < kNoReverseTollFrom && !wire.links.empty()) {
      const NodeShape::Link& last = link(wire.links.back().link);
      wire.tolls.push_back({link(last.reverse).capacity_owner, kReverseToll});
    }
    return wire;
  }

  void read_nic_ways() {
    const std::size_t gpus = machine_.gpus_.size();
    for (std::size_t n = 0; n < machine_.nics_.size(); ++n) {
      for (std::size_t g = 0; g < gpus; ++g) {
        machine_.from_nic_.push_back(wire_with_nic(machine_.gpus_[g], machine_.nics_[n], true));
        machine_.from_nic_.back().tolls.push_back({machine_.port_in(n), 1});
        machine_.to_nic_.push_back(wire_with_nic(machine_.gpus_[g], machine_.nics_[n], false));
        machine_.to_nic_.back().tolls.push_back({machine_.port_out(n), 1});
      }
    }
    send_through_near_gpu();
  }

  // PXN: a GPU far from a NIC hands what it sends to a neighbour on NVLink that is near it.
  void send_through_near_gpu() {
    const std::size_t gpus = machine_.gpus_.size();
    const std::vector<NcclWire> direct = machine_.to_nic_;
    for (std::size_t pair = 0; pair < direct.size(); ++pair) {
      const std::size_t nic = pair / gpus;
      for (std::size_t near = 0; near < gpus; ++near) {
        const NcclWire& hop = machine_.between(pair % gpus, near);
        const NcclWire& rest = direct[nic * gpus + near];
        if (machine_.to_nic_[pair].path > NcclPath::kPxn && rest.path <= NcclPath::kPxb &&
            hop.path == NcclPath::kNvl) {
          machine_.to_nic_[pair] = joined(hop, rest, NcclPath::kPxn);
        }
      }
    }
  }

  const Topology& topology_;
  NodeId node_;
  const NodeShape& shape_;
  NodeRoutes routes_;
  NcclMachine& machine_;
};

double nccl_network_gbps(const Topology& topology, VertexId nic) {
  double sum = 0;
  for (const LinkId link : topology.links_from(nic)) {
    const bool network = topology.link_kind(link) == LinkKind::kNetwork && !topology.failed(link);
    sum += network ? to_gigabytes_per_second(topology.bandwidth(link)) : 0;
  }
  return sum;
}

NcclMachine::NcclMachine(const Topology& topology,
                         NodeId node,
                         std::vector<std::uint32_t> gpus,
                         bool with_network)
    : gpus_(std::move(gpus)) {
  Reader(topology, node, *this).read(with_network);
}

std::uint32_t NcclMachine::port_in(std::size_t n) const {
  return static_cast<std::uint32_t>(link_count_ + 2 * n);
}

}  // namespace twinrun
