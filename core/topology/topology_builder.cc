#include "core/topology/topology_builder.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "core/base/check.h"

namespace twinrun {

TopologyBuilder::TopologyBuilder(const TopologySpec& spec) {
  topology_.name_ = spec.name;
  topology_.description_ = spec.description;
  topology_.devices_ = spec.devices;
  topology_.groups_ = spec.nodes;
  if (spec.fabric) {
    topology_.fabric_kind_ = spec.fabric->kind;
    topology_.routing_rule_ = spec.fabric->routing;
  }
}

void TopologyBuilder::add_nodes(std::uint32_t group, const NodeShape& shape, std::size_t count) {
  const auto shape_index = static_cast<std::uint32_t>(topology_.shapes_.size());
  topology_.shapes_.push_back(shape);
  sharers_.push_back(count);
  std::vector<NodeId>& named_alike = topology_.nodes_by_word_[topology_.groups_[group].name];
  for (std::size_t i = 0; i < count; ++i) {
    const NodeId id = id_at<NodeId>(topology_.nodes_.size());
    topology_.nodes_.push_back(
        {shape_index, 0, 0, group, static_cast<std::uint32_t>(named_alike.size())});
    named_alike.push_back(id);
  }
}

std::vector<std::uint32_t> TopologyBuilder::own_shapes(const std::vector<NodeId>& nodes) {
  std::map<std::uint32_t, std::vector<NodeId>> by_shape;
  for (const NodeId node : nodes) {
    by_shape[topology_.node(node).shape].push_back(node);
  }
  std::vector<std::uint32_t> shapes;
  for (const auto& [shape, members] : by_shape) {
    if (members.size() == sharers_[shape]) {
      shapes.push_back(shape);
      continue;
    }
    NodeShape copy = topology_.shapes_[shape];
    shapes.push_back(static_cast<std::uint32_t>(topology_.shapes_.size()));
    topology_.shapes_.push_back(std::move(copy));
    sharers_[shape] -= members.size();
    sharers_.push_back(members.size());
    for (const NodeId node : members) {
      topology_.nodes_[index_of(node)].shape = shapes.back();
    }
  }
  return shapes;
}

void TopologyBuilder::add_link(const NodeShape::Link& link,
                               std::size_t vertex_offset,
                               std::size_t link_offset) {
  Topology& t = topology_;
  t.from_.push_back(id_at<VertexId>(vertex_offset + link.from));
  t.to_.push_back(id_at<VertexId>(vertex_offset + link.to));
  t.bandwidth_.push_back(link.bandwidth.bytes_per_s);
  t.latency_ps_.push_back(link.latency.ps);
  t.link_kind_.push_back(link.kind);
  t.bonded_.push_back(link.count);
  t.reverse_.push_back(id_at<LinkId>(link_offset + link.reverse));
  t.capacity_owner_.push_back(id_at<LinkId>(link_offset + link.capacity_owner));
  t.failed_.push_back(link.failed);
}

void TopologyBuilder::place_machines() {
  Topology& t = topology_;
  for (std::size_t n = 0; n < t.nodes_.size(); ++n) {
    Topology::Node& machine = t.nodes_[n];
    const NodeShape& shape = t.shapes_[machine.shape];
    machine.first_vertex = static_cast<std::uint32_t>(t.kind_.size());
    machine.first_link = static_cast<std::uint32_t>(t.from_.size());
    for (const NodeShape::Vertex& vertex : shape.vertices) {
      t.kind_.push_back(vertex.kind);
      t.node_of_.push_back(id_at<NodeId>(n));
    }
    for (const NodeShape::Link& link : shape.links) {
      add_link(link, machine.first_vertex, machine.first_link);
    }
  }
  t.fabric_first_vertex_ = t.kind_.size();
  t.fabric_first_link_ = t.from_.size();
}

VertexId TopologyBuilder::add_switch(const std::string& word) {
  Topology& t = topology_;
  const auto found = std::find(t.fabric_words_.begin(), t.fabric_words_.end(), word);
  const auto index = static_cast<std::uint32_t>(found - t.fabric_words_.begin());
  if (found == t.fabric_words_.end()) {
    t.fabric_words_.push_back(word);
    next_switch_.push_back(0);
  }
  const VertexId id = id_at<VertexId>(t.kind_.size());
  t.kind_.push_back(VertexKind::kSwitch);
  t.node_of_.push_back(no_id<NodeId>());
  t.fabric_names_.emplace_back(index, next_switch_[index]++);
  t.fabric_by_name_.emplace(t.name(id), id);
  return id;
}

LinkId TopologyBuilder::add_wire(const Wire& wire) {
  const std::size_t first = topology_.from_.size();
  std::vector<NodeShape::Link> both;
  NodeShape::Link forward;
  forward.from = static_cast<std::uint32_t>(index_of(wire.a));
  forward.to = static_cast<std::uint32_t>(index_of(wire.b));
  forward.kind = wire.kind;
  forward.count = wire.bonded;
  forward.bandwidth = wire.bandwidth;
  forward.latency = wire.latency;
  add_link_pair(both, forward, wire.duplex);
  for (const NodeShape::Link& link : both) {
    add_link(link, 0, first);
  }
  return id_at<LinkId>(first);
}

void TopologyBuilder::set_link(LinkId link, Bandwidth bandwidth, Time latency, bool failed) {
  topology_.bandwidth_[index_of(link)] = bandwidth.bytes_per_s;
  topology_.latency_ps_[index_of(link)] = latency.ps;
  topology_.failed_[index_of(link)] = failed;
}

Csr<VertexId, LinkId> TopologyBuilder::links_by_source() const {
  std::vector<LinkId> ids(topology_.from_.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ids[i] = id_at<LinkId>(i);
  }
  return Csr<VertexId, LinkId>::from_pairs(topology_.kind_.size(), topology_.from_, ids);
}

void TopologyBuilder::add_core_group(const Topology::CoreGroup& group,
                                     const std::vector<VertexId>& vertices) {
  const auto number = static_cast<std::uint32_t>(topology_.core_groups_.size());
  topology_.core_groups_.push_back(group);
  for (const VertexId vertex : vertices) {
    topology_.core_group_of_.emplace(static_cast<std::uint32_t>(vertex), number);
  }
}

Topology TopologyBuilder::finish() && {
  topology_.out_ = links_by_source();
  return std::move(topology_);
}

}  // namespace twinrun
