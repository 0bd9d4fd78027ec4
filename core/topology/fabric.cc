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

void join_leaves_to_spines(const FabricInput& input, const std::vector<Leaf>& leaves) {
  if (leaves.size() < 2 || input.spec.spines == 0) {
    return;
  }
  const auto widest = std::max_element(
      leaves.begin(), leaves.end(), [](const Leaf& a, const Leaf& b) { return a.ports < b.ports; });
  // As many spines as uplinks of a port's speed are needed, unless told otherwise.
  const auto wanted =
      std::llround(static_cast<double>(widest->ports) / input.spec.oversubscription);
  const auto spines = input.spec.spines.value_or(std::max<std::int64_t>(1, wanted));
  for (std::int64_t s = 0; s < spines; ++s) {
    const VertexId spine = input.builder.add_switch("spine");
    for (const Leaf& leaf : leaves) {
      const double share =
          widest->down_bytes_per_s / input.spec.oversubscription / static_cast<double>(spines);
      input.join_switches(leaf.vertex, spine,
                          input.spec.uplink_bandwidth.value_or(Bandwidth{share}));
    }
  }
}

}  // namespace twinrun
