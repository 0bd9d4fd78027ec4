#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/diagnostics.h"
#include "core/topology/topology.h"

namespace twinrun {

// A wire of the fabric, both directions unless one-way.
struct Wire {
  VertexId a{};
  VertexId b{};
  LinkKind kind = LinkKind::kNetwork;
  Bandwidth bandwidth{};
  Time latency{};
  std::uint16_t bonded = 1;
  Duplex duplex = Duplex::kFull;
};

// Puts a Topology together: machines first, then switches and wires. Consumed by finish().
class TopologyBuilder {
 public:
  explicit TopologyBuilder(const TopologySpec& spec);

  // Machines of one entry of spec.nodes, all of one shape.
  void add_nodes(std::uint32_t group, const NodeShape& shape, std::size_t count);
  // Gives these machines shapes that no other machine has and returns their numbers, for changing
  // what shape_at() gives. Machines alike before stay alike, so changing thousands alike costs one
  // shape. Before any switch or wire.
  std::vector<std::uint32_t> own_shapes(const std::vector<NodeId>& nodes);
  NodeShape& shape_at(std::uint32_t shape) { return topology_.shapes_[shape]; }

  // Copies all machines into the columns; switches and wires come after.
  void place_machines();
  VertexId add_switch(const std::string& word);  // numbered on: leaf0, leaf1, …
  LinkId add_wire(const Wire& wire);

  // The unfinished topology: names, kinds and machines can be asked for.
  [[nodiscard]] const Topology& so_far() const { return topology_; }
  [[nodiscard]] std::uint32_t group_of(NodeId node) const { return topology_.node(node).group; }

  [[nodiscard]] Csr<VertexId, LinkId> links_by_source() const;
  void set_link(LinkId link, Bandwidth bandwidth, Time latency, bool failed);
  // The vertices are in no group yet.
  void add_core_group(const Topology::CoreGroup& group, const std::vector<VertexId>& vertices);
  Topology finish() &&;

 private:
  void add_link(const NodeShape::Link& link, std::size_t vertex_offset, std::size_t link_offset);

  Topology topology_;
  std::vector<std::uint32_t> next_switch_;  // by word
  std::vector<std::size_t> sharers_;        // machines of each shape
};

}  // namespace twinrun
