#include "core/topology/fabric.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace twinrun {

std::span<const FabricKind> fabric_kinds() {
  static const std::vector<FabricKind> kinds = {
      {"single-switch", "every NIC on one non-blocking switch", {}, generate_single_switch},
      {"leaf-spine",
       "machines on leaf switches, leaves on spines",
       {"nodes_per_leaf", "spines", "uplink_bandwidth", "oversubscription"},
       generate_leaf_spine},
      {"fat-tree",
       "k-port switches in 1 to 3 levels",
       {"ports", "levels", "uplink_bandwidth", "oversubscription"},
       generate_fat_tree},
      {"rail-optimized",
       "NIC r of every machine on the leaves of rail r",
       {"nodes_per_leaf", "spines", "uplink_bandwidth", "oversubscription"},
       generate_rail_optimized},
      {"ring", "each machine wired to the next, NIC to NIC", {}, generate_ring},
      {"torus", "machines in a grid that wraps around, NIC to NIC", {"dims"}, generate_torus},
  };
  return kinds;
}

const FabricKind* find_fabric_kind(std::string_view name) {
  for (const FabricKind& kind : fabric_kinds()) {
    if (kind.name == name) {
      return &kind;
    }
  }
  return nullptr;
}

void FabricInput::plug(const Port& port, VertexId other) const {
  builder.add_wire({port.vertex, other, LinkKind::kNetwork, port.bandwidth, port.latency});
}

void FabricInput::join_switches(VertexId a, VertexId b, Bandwidth bandwidth) const {
  builder.add_wire({a, b, LinkKind::kNetwork, bandwidth, spec.latency});
}

// A message passes both NICs and goes as fast as the slower one.
void FabricInput::join_ports(const Port& a, const Port& b) const {
  builder.add_wire({a.vertex, b.vertex, LinkKind::kNetwork, std::min(a.bandwidth, b.bandwidth),
                    a.latency + b.latency - spec.latency});
}

void FabricInput::warn_of_no_uplinks() const {
  if (spec.oversubscription != 1) {
    diagnostics.warning("W0302", spec.place,
                        "the oversubscription has no effect: no switch has an uplink",
                        "put fewer machines on a switch with \"nodes_per_leaf\" or \"ports\"");
  }
}

bool FabricInput::fits(double wires) const {
  const double links = static_cast<double>(builder.so_far().link_count()) + 2 * wires;
  const bool good = links <= static_cast<double>(SizeLimits::kLinks);
  if (!good) {
    diagnostics.error(
        "E0303", spec.place,
        fmt::format("the fabric would have {:.0f} links, more than {}", links, SizeLimits::kLinks),
        "is a count mistyped?");
  }
  return good;
}

std::size_t machines_per_leaf(const FabricInput& input, std::size_t usual, std::size_t rails) {
  const std::size_t machines = input.ports.size();
  if (input.spec.nodes_per_leaf) {
    return static_cast<std::size_t>(*input.spec.nodes_per_leaf);
  }
  const bool one_leaf = rails == 1 && machines <= usual;
  return one_leaf && input.spec.oversubscription != 1 ? (machines + 1) / 2 : usual;
}

void join_leaves_to_spines(const FabricInput& input, const std::vector<Leaf>& leaves) {
  if (leaves.size() < 2 || input.spec.spines == 0) {
    input.warn_of_no_uplinks();
    return;
  }
  std::size_t most_ports = 1;
  double most_down = 0;
  for (const Leaf& leaf : leaves) {
    most_ports = std::max(most_ports, leaf.ports);
    most_down = std::max(most_down, leaf.down_bytes_per_s);
  }
  // As many spines as uplinks of a port's speed are needed, unless told otherwise; never more than
  // ports, however undersubscribed.
  const double wanted =
      std::round(static_cast<double>(most_ports) / std::max(input.spec.oversubscription, 1.0));
  const auto spines =
      input.spec.spines.value_or(std::max<std::int64_t>(1, static_cast<std::int64_t>(wanted)));
  if (!input.fits(static_cast<double>(spines) * static_cast<double>(leaves.size()))) {
    return;
  }
  const double share = most_down / input.spec.oversubscription / static_cast<double>(spines);
  for (std::int64_t s = 0; s < spines; ++s) {
    const VertexId spine = input.builder.add_switch("spine");
    for (const Leaf& leaf : leaves) {
      input.join_switches(leaf.vertex, spine,
                          input.spec.uplink_bandwidth.value_or(Bandwidth{share}));
    }
  }
}

}  // namespace twinrun
