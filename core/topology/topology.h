#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/csr.h"
#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/topology/node_shape.h"
#include "core/topology/spec.h"

namespace twinrun {

// The cluster as a graph of directed links, immutable once built. Machines come first, each a
// contiguous run of vertices and of links copied from its shape; the fabric's switches and wires
// follow:
//
//   vertices  | node0: gpu0 gpu1 … nic7 | node1: … | … | leaf0 leaf1 … spine0 |
//   links     | node0's                 | node1's  | … | network               |
//
// so names and routes inside a machine are kept once per shape, not once per machine.
class Topology {
 public:
  struct Node {
    std::uint32_t shape = 0;
    std::uint32_t first_vertex = 0;
    std::uint32_t first_link = 0;
    std::uint32_t group = 0;   // which entry of TopologySpec::nodes
    std::uint32_t number = 0;  // node12 has 12
  };

  // Cores that several CPU devices share.
  struct CoreGroup {
    double cores = 1;
    Bandwidth moves{};  // what one core moves when it does nothing else
    MovedBy moved_by = MovedBy::kReceiver;
    Time wake{};  // of a stream that slept until an op of another ended
    std::vector<FootprintPoint> footprint;
  };

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& description() const { return description_; }
  [[nodiscard]] std::size_t vertex_count() const { return kind_.size(); }
  [[nodiscard]] std::size_t link_count() const { return from_.size(); }
  [[nodiscard]] std::size_t node_count() const { return nodes_.size(); }

  [[nodiscard]] VertexKind kind(VertexId v) const { return kind_[index_of(v)]; }
  // The machine a vertex belongs to; no_id for the fabric's switches.
  [[nodiscard]] NodeId node_of(VertexId v) const { return node_of_[index_of(v)]; }
  [[nodiscard]] const DeviceSpec* device(VertexId v) const;  // null for plain switches
  [[nodiscard]] double compute_scale(VertexId v) const;
  [[nodiscard]] double memory_bandwidth_scale(VertexId v) const;
  [[nodiscard]] std::string name(VertexId v) const;
  // Accepts node0/gpu3, and gpu3 alone where there is one node. Nothing when there is no such
  // vertex.
  [[nodiscard]] std::optional<VertexId> find(std::string_view name) const;

  [[nodiscard]] VertexId from(LinkId l) const { return from_[index_of(l)]; }
  [[nodiscard]] VertexId to(LinkId l) const { return to_[index_of(l)]; }
  [[nodiscard]] Bandwidth bandwidth(LinkId l) const { return {bandwidth_[index_of(l)]}; }
  [[nodiscard]] Time latency(LinkId l) const { return {latency_ps_[index_of(l)]}; }
  [[nodiscard]] LinkKind link_kind(LinkId l) const { return link_kind_[index_of(l)]; }
  [[nodiscard]] std::uint16_t bonded(LinkId l) const { return bonded_[index_of(l)]; }
  [[nodiscard]] LinkId reverse(LinkId l) const { return reverse_[index_of(l)]; }
  // The link whose capacity this one draws on: itself, or its reverse on a half-duplex bus.
  [[nodiscard]] LinkId capacity_owner(LinkId l) const { return capacity_owner_[index_of(l)]; }
  [[nodiscard]] bool failed(LinkId l) const { return failed_[index_of(l)]; }
  [[nodiscard]] std::string link_name(LinkId l) const;  // "gpu0 -> nvswitch0"
  [[nodiscard]] std::span<const LinkId> links_from(VertexId v) const { return out_[v]; }

  [[nodiscard]] const Node& node(NodeId n) const { return nodes_[index_of(n)]; }
  [[nodiscard]] const NodeShape& shape(NodeId n) const { return shapes_[node(n).shape]; }
  [[nodiscard]] const std::vector<NodeShape>& shapes() const { return shapes_; }
  [[nodiscard]] std::string node_name(NodeId n) const;  // its word and number: node12
  [[nodiscard]] const std::string& node_word(NodeId n) const { return groups_[node(n).group].name; }
  [[nodiscard]] const std::string& role(NodeId n) const { return groups_[node(n).group].role; }
  [[nodiscard]] VertexId vertex_in(NodeId n, std::uint32_t local) const {
    return id_at<VertexId>(node(n).first_vertex + local);
  }
  [[nodiscard]] LinkId link_in(NodeId n, std::uint32_t local) const {
    return id_at<LinkId>(node(n).first_link + local);
  }

  [[nodiscard]] const std::vector<CoreGroup>& core_groups() const { return core_groups_; }
  // Which of them a device is in; nothing when it has cores of its own.
  [[nodiscard]] std::optional<std::uint32_t> core_group(VertexId v) const;

  // The devices a job runs on: all GPUs, or all CPUs where there is none; in vertex order.
  [[nodiscard]] std::vector<VertexId> compute_devices() const;
  // First vertex and link that belong to the fabric.
  [[nodiscard]] std::size_t fabric_first_vertex() const { return fabric_first_vertex_; }
  [[nodiscard]] std::size_t fabric_first_link() const { return fabric_first_link_; }
  [[nodiscard]] RoutingRule routing_rule() const { return routing_rule_; }
  [[nodiscard]] const std::string& fabric_kind() const { return fabric_kind_; }

 private:
  friend class TopologyBuilder;

  std::string name_;
  std::string description_;
  std::string fabric_kind_;  // "" without one
  RoutingRule routing_rule_ = RoutingRule::kEcmp;
  std::vector<DeviceSpec> devices_;
  std::vector<NodeShape> shapes_;
  std::vector<NodesSpec> groups_;
  std::vector<Node> nodes_;
  std::unordered_map<std::string, std::vector<NodeId>> nodes_by_word_;

  std::vector<VertexKind> kind_;
  std::vector<NodeId> node_of_;
  // Fabric vertices are named here, machine vertices in their shape.
  std::vector<std::string> fabric_words_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> fabric_names_;  // word and number
  std::unordered_map<std::string, VertexId> fabric_by_name_;
  std::size_t fabric_first_vertex_ = 0;
  std::size_t fabric_first_link_ = 0;

  std::vector<VertexId> from_;
  std::vector<VertexId> to_;
  std::vector<double> bandwidth_;
  std::vector<std::int64_t> latency_ps_;
  std::vector<LinkKind> link_kind_;
  std::vector<std::uint16_t> bonded_;
  std::vector<LinkId> reverse_;
  std::vector<LinkId> capacity_owner_;
  std::vector<bool> failed_;
  std::vector<CoreGroup> core_groups_;
  std::unordered_map<std::uint32_t, std::uint32_t> core_group_of_;  // by vertex
  Csr<VertexId, LinkId> out_;
};

}  // namespace twinrun
