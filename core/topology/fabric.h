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

  // W0302 when an oversubscription was asked for but there is nothing to oversubscribe.
  void warn_of_no_uplinks() const;
  // Complains (E0303) when so many more wires would be too many.
  [[nodiscard]] bool fits(double wires) const;
  void plug(const Port& port, VertexId other) const;    // wire from a port to a switch
  void join_ports(const Port& a, const Port& b) const;  // wire from a NIC to another machine's NIC
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

// How many machines share a leaf when the file does not say: as many as usual. When that would put
// all of them under one leaf, so that an oversubscription had no effect, half of them.
std::size_t machines_per_leaf(const FabricInput& input, std::size_t usual, std::size_t rails);

// Joins every leaf with every spine so that the uplinks of a leaf together carry the downlinks of
// the widest leaf (switches are alike, filled or not) divided by the oversubscription. Shared by
// the two-level fabrics.
struct Leaf {
  VertexId vertex{};
  std::size_t ports = 0;
  double down_bytes_per_s = 0;
};
void join_leaves_to_spines(const FabricInput& input, const std::vector<Leaf>& leaves);

}  // namespace twinrun
