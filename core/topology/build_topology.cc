#include "core/topology/build_topology.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/did_you_mean.h"
#include "core/topology/apply_overrides.h"
#include "core/topology/fabric.h"
#include "core/topology/name_lookup.h"
#include "core/topology/topology_builder.h"

namespace twinrun {
namespace {

bool add_machines(const TopologySpec& spec, TopologyBuilder& builder, Diagnostics& diagnostics) {
  ShapeMaker maker(spec, diagnostics);
  double vertices = 0;
  double links = 0;
  bool good = true;  // go on after a mistake: the next entry may have another
  for (std::uint32_t group = 0; group < spec.nodes.size(); ++group) {
    const NodesSpec& nodes = spec.nodes[group];
    const std::optional<NodeShape> shape = maker.make(nodes);
    if (!shape) {
      good = false;
      continue;
    }
    const auto count = static_cast<double>(nodes.count);
    vertices += count * static_cast<double>(std::max<std::size_t>(1, shape->vertices.size()));
    links += count * static_cast<double>(shape->links.size());
    if (vertices > static_cast<double>(SizeLimits::kVertices) ||
        links > static_cast<double>(SizeLimits::kLinks)) {
      diagnostics.error("E0303", nodes.place,
                        fmt::format("with {} machines of {} parts and {} links a topology would "
                                    "have more than {} parts or {} links",
                                    nodes.count, shape->vertices.size(), shape->links.size(),
                                    SizeLimits::kVertices, SizeLimits::kLinks),
                        "is the count mistyped?");
      return false;
    }
    builder.add_nodes(group, *shape, static_cast<std::size_t>(nodes.count));
  }
  return good;
}

// The rate of one NIC: what the nodes entry says, else the fabric, else the NIC's own.
Port port_at(const TopologySpec& spec, const Topology& topology, VertexId vertex) {
  const NodesSpec& nodes = spec.nodes[topology.node(topology.node_of(vertex)).group];
  const DeviceSpec* device = topology.device(vertex);
  Port port;
  port.vertex = vertex;
  if (nodes.nic_rate) {
    port.bandwidth = *nodes.nic_rate;
  } else if (spec.fabric->bandwidth) {
    port.bandwidth = *spec.fabric->bandwidth;
  } else if (device != nullptr) {
    port.bandwidth = device->rate;
  }
  port.latency = spec.fabric->latency + (device != nullptr ? device->latency : Time{});
  return port;
}

std::vector<Port> ports_of(const TopologySpec& spec, const Topology& topology, NodeId node) {
  const NodeShape& shape = topology.shape(node);
  std::vector<std::uint32_t> plugs = shape.of_kind(VertexKind::kNic);
  if (plugs.empty()) {
    plugs = shape.of_kind(VertexKind::kCpu);
    plugs.erase(plugs.begin() + std::min<std::ptrdiff_t>(std::ssize(plugs), 1), plugs.end());
  }
  std::vector<Port> ports;
  ports.reserve(plugs.size());
  for (const std::uint32_t local : plugs) {
    ports.push_back(port_at(spec, topology, topology.vertex_in(node, local)));
  }
  return ports;
}

void add_fabric(const TopologySpec& spec, TopologyBuilder& builder, Diagnostics& diagnostics) {
  const FabricKind* kind = find_fabric_kind(spec.fabric->kind);
  const Topology& topology = builder.so_far();
  if (kind == nullptr || topology.node_count() < 2) {
    return;  // the loader complained about an unknown kind; one machine needs no fabric
  }
  std::vector<std::vector<Port>> ports;
  for (std::size_t n = 0; n < topology.node_count(); ++n) {
    const NodeId node = id_at<NodeId>(n);
    ports.push_back(ports_of(spec, topology, node));
    if (ports.back().empty()) {
      diagnostics.error("E0309", spec.nodes[topology.node(node).group].place,
                        fmt::format("{} has neither a NIC nor a CPU to plug into the fabric",
                                    topology.node_name(node)),
                        "add a part of kind nic to its template");
      return;
    }
    const auto unknown =
        std::find_if(ports.back().begin(), ports.back().end(),
                     [](const Port& port) { return port.bandwidth.bytes_per_s <= 0; });
    if (unknown != ports.back().end()) {
      diagnostics.error(
          "E0322", spec.fabric->place,
          fmt::format("the speed of {}'s wire is not known", topology.name(unknown->vertex)),
          "give \"bandwidth\" in the fabric, or \"rate\" in the NIC's device");
      return;
    }
  }
  kind->generate({*spec.fabric, ports, builder, diagnostics});
}

bool add_switches(const TopologySpec& spec, TopologyBuilder& builder, Diagnostics& diagnostics) {
  auto vertices = static_cast<double>(builder.so_far().vertex_count());
  for (const PartSpec& part : spec.switches) {
    vertices += static_cast<double>(part.count);
    if (vertices > static_cast<double>(SizeLimits::kVertices)) {
      diagnostics.error("E0303", part.place,
                        fmt::format("with {} switches a topology would have more than {} parts",
                                    part.count, SizeLimits::kVertices),
                        "is the count mistyped?");
      return false;
    }
  }
  for (const PartSpec& part : spec.switches) {
    for (std::int64_t i = 0; i < part.count; ++i) {
      builder.add_switch(part.name);
    }
  }
  return true;
}

bool fits(const TopologyBuilder& builder,
          std::size_t from,
          std::size_t to,
          const LinkSpec& link,
          Diagnostics& diagnostics) {
  const double pairs = link.pairing == Pairing::kAll
                           ? static_cast<double>(from) * static_cast<double>(to)
                           : static_cast<double>(std::max(from, to));
  const bool good = static_cast<double>(builder.so_far().link_count()) + pairs <=
                    static_cast<double>(SizeLimits::kLinks);
  if (!good) {
    diagnostics.error("E0303", link.place,
                      fmt::format("{} times {} links are more than the {} a topology may have",
                                  from, to, SizeLimits::kLinks),
                      "do the patterns name more than they should?");
  }
  return good;
}

void add_explicit_links(const TopologySpec& spec,
                        TopologyBuilder& builder,
                        Diagnostics& diagnostics) {
  if (!add_switches(spec, builder, diagnostics)) {
    return;
  }
  for (const LinkSpec& link : spec.links) {
    const auto from = find_vertices(builder.so_far(), link.from, link.place, diagnostics);
    const auto to = find_vertices(builder.so_far(), link.to, link.place, diagnostics);
    if (from.empty() || to.empty() || !fits(builder, from.size(), to.size(), link, diagnostics)) {
      continue;
    }
    const auto pairs = pair_up(from, to, link.pairing);
    if (!pairs || pairs->empty()) {
      complain_about_pairing(from.size(), to.size(), pairs.has_value(), link.place, diagnostics);
      continue;
    }
    for (const auto& [a, b] : *pairs) {
      const double total = link.bandwidth.bytes_per_s * static_cast<double>(link.count);
      builder.add_wire({a,
                        b,
                        link.kind,
                        {total},
                        link.latency,
                        static_cast<std::uint16_t>(link.count),
                        link.duplex});
    }
  }
}

// False, with a complaint, when one of them cannot share cores, or shares others already.
bool may_share_cores(const Topology& topology,
                     const std::vector<VertexId>& vertices,
                     const CoresSpec& cores,
                     Diagnostics& diagnostics) {
  for (const VertexId vertex : vertices) {
    if (topology.kind(vertex) != VertexKind::kCpu) {
      diagnostics.error(
          "E0335", cores.place,
          fmt::format("{} is no CPU, so it has no cores to share", topology.name(vertex)),
          "\"vertices\" of \"cores\" name CPUs, such as node*/cpu*");
      return false;
    }
    if (topology.core_group(vertex)) {
      diagnostics.error("E0336", cores.place,
                        fmt::format("{} shares cores with others already", topology.name(vertex)),
                        "a device may be named by one entry of \"cores\" only");
      return false;
    }
  }
  return true;
}

void share_cores(const TopologySpec& spec, TopologyBuilder& builder, Diagnostics& diagnostics) {
  const Topology& topology = builder.so_far();
  for (const CoresSpec& cores : spec.cores) {
    std::vector<VertexId> vertices =
        find_vertices(topology, cores.vertices, cores.place, diagnostics);
    std::sort(vertices.begin(), vertices.end());
    vertices.erase(std::unique(vertices.begin(), vertices.end()), vertices.end());
    if (!may_share_cores(topology, vertices, cores, diagnostics)) {
      continue;
    }
    for (auto first = vertices.begin(); first != vertices.end();) {
      const auto last = std::find_if(first, vertices.end(), [&](VertexId other) {
        return cores.sharing == CoreSharing::kMachine &&
               topology.node_of(other) != topology.node_of(*first);
      });
      builder.add_core_group(
          {cores.count, cores.moves, cores.moved_by, cores.wake, cores.footprint}, {first, last});
      first = last;
    }
  }
}

void warn_about_islands(const TopologySpec& spec,
                        const Topology& topology,
                        Diagnostics& diagnostics) {
  if (!diagnostics.has_errors() && topology.node_count() > 1 &&
      topology.link_count() == topology.fabric_first_link()) {
    diagnostics.warning("W0301", spec.place,
                        fmt::format("the {} machines are not connected", topology.node_count()),
                        "add a \"fabric\", or \"links\" between them");
  }
}

// A device that no link touches can compute but never communicate: a link was probably forgotten.
void warn_about_loose_devices(const TopologySpec& spec,
                              const Topology& topology,
                              Diagnostics& diagnostics) {
  const std::vector<VertexId> devices = topology.compute_devices();
  std::size_t loose = 0;
  VertexId first{};
  for (const VertexId device : devices) {
    if (topology.links_from(device).empty()) {
      first = loose++ == 0 ? device : first;
    }
  }
  if (loose > 0 && loose < devices.size() && !diagnostics.has_errors()) {
    diagnostics.warning("W0303", spec.place,
                        fmt::format("{} of {} devices are connected to nothing, the first is {}",
                                    loose, devices.size(), topology.name(first)),
                        "add links to their template");
  }
}

}  // namespace

Topology build_topology(const TopologySpec& spec, Diagnostics& diagnostics) {
  TopologyBuilder builder(spec);
  if (!add_machines(spec, builder, diagnostics)) {
    return std::move(builder).finish();
  }
  override_machines(spec, builder, diagnostics);
  builder.place_machines();
  if (spec.fabric) {
    add_fabric(spec, builder, diagnostics);
  }
  add_explicit_links(spec, builder, diagnostics);
  override_wires(spec, builder, diagnostics);
  share_cores(spec, builder, diagnostics);
  Topology topology = std::move(builder).finish();
  warn_about_islands(spec, topology, diagnostics);
  warn_about_loose_devices(spec, topology, diagnostics);
  return topology;
}

}  // namespace twinrun
