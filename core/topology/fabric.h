#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/csr.h"
#include "core/base/diagnostics.h"
#include "core/topology/spec.h"
#include "core/topology/topology_builder.h"

namespace twinrun {

// A vertex the fabric plugs into: a NIC, or the CPU of a machine without one.
struct Port {
  VertexId vertex{};
  Bandwidth bandwidth{};
  Time latency{};  // of the wire, with the NIC's own
};

// What a generator works on: the ports of each machine, in machine order.
struct FabricInput {
  const FabricSpec& spec;
  const std::vector<std::vector<Port>>& ports;
  TopologyBuilder& builder;
  Diagnostics& diagnostics;

  [[nodiscard]] Time switch_latency() const { return spec.latency; }
  // Wire from a port to a switch or another port.
  void plug(const Port& port, VertexId other) const;
  void join_switches(VertexId a, VertexId b, Bandwidth bandwidth) const;
};

// A way to join machines: one file fabric_<name>.cc and one row in fabric.cc. `keys` are those keys
// of FabricSpec it reads beyond bandwidth, latency and routing; others are refused, as they would
// have no effect.
struct FabricKind {
  std::string_view name;
  std::string_view description;
  std::vector<std::string_view> keys;
  void (*generate)(const FabricInput& input);
};

std::span<const FabricKind> fabric_kinds();
const FabricKind* find_fabric_kind(std::string_view name);  // null when unknown

void generate_single_switch(const FabricInput& input);
void generate_leaf_spine(const FabricInput& input);
void generate_rail_optimized(const FabricInput& input);
void generate_fat_tree(const FabricInput& input);
void generate_ring(const FabricInput& input);
void generate_torus(const FabricInput& input);

// Joins every leaf with every spine so that the uplinks carry the leaf's downlinks divided by the
// oversubscription. Shared by the two-level fabrics.
struct Leaf {
  VertexId vertex{};
  std::size_t ports = 0;
  double down_bytes_per_s = 0;
};
void join_leaves_to_spines(const FabricInput& input, const std::vector<Leaf>& leaves);

}  // namespace twinrun
