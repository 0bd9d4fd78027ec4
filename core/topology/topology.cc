#include "core/topology/topology.h"

#include <fmt/format.h>

#include "core/topology/name_pattern.h"

namespace twinrun {

const DeviceSpec* Topology::device(VertexId v) const {
  const NodeId n = node_of(v);
  if (n == no_id<NodeId>()) {
    return nullptr;
  }
  const std::uint32_t device = shape(n).vertices[index_of(v) - node(n).first_vertex].device;
  return device == NodeShape::kNoDevice ? nullptr : &devices_[device];
}

double Topology::compute_scale(VertexId v) const {
  const NodeId n = node_of(v);
  return n == no_id<NodeId>() ? 1
                              : shape(n).vertices[index_of(v) - node(n).first_vertex].compute_scale;
}

double Topology::memory_bandwidth_scale(VertexId v) const {
  const NodeId n = node_of(v);
  return n == no_id<NodeId>()
             ? 1
             : shape(n).vertices[index_of(v) - node(n).first_vertex].memory_bandwidth_scale;
}

std::string Topology::node_name(NodeId n) const {
  return fmt::format("{}{}", groups_[node(n).group].name, node(n).number);
}

std::string Topology::name(VertexId v) const {
  const NodeId n = node_of(v);
  if (n == no_id<NodeId>()) {
    const auto& [word, number] = fabric_names_[index_of(v) - fabric_first_vertex_];
    return fmt::format("{}{}", fabric_words_[word], number);
  }
  std::string local =
      shape(n).name_of(static_cast<std::uint32_t>(index_of(v)) - node(n).first_vertex);
  return node_count() == 1 ? local : fmt::format("{}/{}", node_name(n), local);
}

std::string Topology::link_name(LinkId l) const {
  return fmt::format("{} -> {}", name(from(l)), name(to(l)));
}

std::optional<VertexId> Topology::find(std::string_view name) const {
  if (const auto found = fabric_by_name_.find(std::string(name)); found != fabric_by_name_.end()) {
    return found->second;
  }
  std::optional<NodeId> in;
  std::string_view local = name;
  if (const std::size_t slash = name.find('/'); slash != std::string_view::npos) {
    const auto split = split_name(name.substr(0, slash));
    const auto machines =
        split ? nodes_by_word_.find(std::string(split->first)) : nodes_by_word_.end();
    if (machines != nodes_by_word_.end() &&
        static_cast<std::size_t>(split->second) < machines->second.size()) {
      in = machines->second[static_cast<std::size_t>(split->second)];
      local = name.substr(slash + 1);
    }
  }
  if (!in && node_count() == 1) {
    in = id_at<NodeId>(0);
  }
  if (!in) {
    return std::nullopt;
  }
  const auto vertex = shape(*in).find(local);
  return vertex ? std::optional(vertex_in(*in, *vertex)) : std::nullopt;
}

std::optional<std::uint32_t> Topology::core_group(VertexId v) const {
  const auto found = core_group_of_.find(static_cast<std::uint32_t>(v));
  return found == core_group_of_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<VertexId> Topology::compute_devices() const {
  for (const VertexKind wanted : {VertexKind::kGpu, VertexKind::kCpu}) {
    std::vector<VertexId> found;
    for (std::size_t v = 0; v < fabric_first_vertex_; ++v) {
      if (kind_[v] == wanted) {
        found.push_back(id_at<VertexId>(v));
      }
    }
    if (!found.empty()) {
      return found;
    }
  }
  return {};
}

}  // namespace twinrun
