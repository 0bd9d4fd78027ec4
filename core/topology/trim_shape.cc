#include "core/topology/trim_shape.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace twinrun {
namespace {

// Drops vertices and every link that touched them, and closes the gaps in both numberings.
void remove_vertices(NodeShape& shape, const std::vector<std::uint32_t>& doomed) {
  constexpr std::uint32_t kGone = 0xFFFFFFFF;
  std::vector<std::uint32_t> moved(shape.vertices.size(), 0);
  for (std::uint32_t vertex : doomed) {
    moved[vertex] = kGone;
  }
  std::vector<NodeShape::Vertex> vertices;
  for (std::size_t i = 0; i < shape.vertices.size(); ++i) {
    if (moved[i] != kGone) {
      moved[i] = static_cast<std::uint32_t>(vertices.size());
      vertices.push_back(shape.vertices[i]);
    }
  }
  std::vector<std::uint32_t> new_link(shape.links.size(), kGone);
  std::vector<NodeShape::Link> links;
  for (std::size_t i = 0; i < shape.links.size(); ++i) {
    NodeShape::Link link = shape.links[i];
    if (moved[link.from] != kGone && moved[link.to] != kGone) {
      new_link[i] = static_cast<std::uint32_t>(links.size());
      link.from = moved[link.from];
      link.to = moved[link.to];
      links.push_back(link);
    }
  }
  for (NodeShape::Link& link : links) {  // both directions stay or go together
    link.reverse = new_link[link.reverse];
    link.capacity_owner = new_link[link.capacity_owner];
  }
  shape.vertices = std::move(vertices);
  shape.links = std::move(links);
}

void keep_first(NodeShape& shape, VertexKind kind, std::int64_t count) {
  std::vector<std::uint32_t> doomed = shape.of_kind(kind);
  doomed.erase(
      doomed.begin(),
      doomed.begin() + std::min<std::int64_t>(count, static_cast<std::int64_t>(doomed.size())));
  if (!doomed.empty()) {
    remove_vertices(shape, doomed);
  }
}

// A vertex more, with links like those of an existing one.
void add_like(NodeShape& shape, std::uint32_t model) {
  const auto added = static_cast<std::uint32_t>(shape.vertices.size());
  NodeShape::Vertex vertex = shape.vertices[model];
  for (const NodeShape::Vertex& other : shape.vertices) {
    if (other.word == vertex.word) {
      vertex.number = std::max(vertex.number, other.number + 1);
    }
  }
  vertex.id.clear();
  shape.vertices.push_back(vertex);
  const std::size_t links = shape.links.size();
  for (std::size_t i = 0; i < links; ++i) {
    NodeShape::Link link = shape.links[i];
    const bool is_first_direction = link.reverse >= i;
    if (is_first_direction && (link.from == model || link.to == model)) {
      (link.from == model ? link.from : link.to) = added;
      const bool shared = shape.links[link.reverse].capacity_owner == i && link.reverse != i;
      add_link_pair(shape.links, link,
                    link.reverse == i ? Duplex::kSimplex
                    : shared          ? Duplex::kHalf
                                      : Duplex::kFull);
    }
  }
}

bool grow(NodeShape& shape, VertexKind kind, std::int64_t count) {
  const std::vector<std::uint32_t> models = shape.of_kind(kind);
  if (models.empty() && count > 0) {
    return false;
  }
  for (auto i = static_cast<std::int64_t>(models.size()); i < count; ++i) {
    add_like(shape, models[static_cast<std::size_t>(i) % models.size()]);
  }
  return true;
}

}  // namespace

void trim_shape(NodeShape& shape, const NodesSpec& nodes, Diagnostics& diagnostics) {
  if (nodes.gpus) {
    const auto have = static_cast<std::int64_t>(shape.of_kind(VertexKind::kGpu).size());
    if (*nodes.gpus > have) {
      diagnostics.error(
          "E0306", nodes.place,
          fmt::format("a \"{}\" has {} GPUs, not {}", nodes.template_name, have, *nodes.gpus),
          fmt::format("ask for 1 to {} GPUs per node, or for more nodes", have));
      return;
    }
    keep_first(shape, VertexKind::kGpu, *nodes.gpus);
  }
  if (nodes.nics) {
    keep_first(shape, VertexKind::kNic, *nodes.nics);
    if (!grow(shape, VertexKind::kNic, *nodes.nics)) {
      diagnostics.error("E0306", nodes.place,
                        fmt::format("a \"{}\" has no NIC, so it cannot have {} of them",
                                    nodes.template_name, *nodes.nics),
                        "add a part of kind nic to its template");
    }
  }
  if (nodes.devices) {
    keep_first(shape, VertexKind::kCpu, *nodes.devices);  // more: ShapeMaker::widened()
  }
}

}  // namespace twinrun
