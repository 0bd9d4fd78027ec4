#include "cli/topology_tree.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include <fmt/format.h>

namespace twinrun::cli {
namespace {

std::string link_in_words(const NodeShape::Link& link) {
  const Bandwidth one{link.bandwidth.bytes_per_s / link.count};
  return link.count == 1 ? fmt::format("{} {}", word(link.kind), to_text(one))
                         : fmt::format("{} {} × {}", word(link.kind), link.count, to_text(one));
}

class TreeDrawing {
 public:
  TreeDrawing(const Topology& topology, NodeId node)
      : topology_(topology),
        node_(node),
        shape_(topology.shape(node)),
        drawn_(shape_.vertices.size()) {}

  std::string draw() {
    const std::vector<std::uint32_t> roots = shape_.of_kind(VertexKind::kCpu);
    for (const std::uint32_t root : roots) {
      drawn_[root] = true;
    }
    for (const std::uint32_t root : roots) {
      out_ += fmt::format("{}{}\n", shape_.name_of(root), about(root));
      draw_below(root, "");
    }
    draw_rest();
    return out_;
  }

 private:
  struct Child {
    std::uint32_t vertex;
    const NodeShape::Link* link;
  };

  // The device and its memory, in brackets.
  std::string about(std::uint32_t vertex) const {
    const DeviceSpec* device = topology_.device(topology_.vertex_in(node_, vertex));
    std::string text = device == nullptr ? "" : fmt::format("  {}", device->name);
    if (device != nullptr && device->memory.count > 0) {
      text += fmt::format(" {}", to_text(device->memory));
    }
    const double scale = shape_.vertices[vertex].compute_scale;
    return scale == 1 ? text : fmt::format("{} at {:.0f} %", text, scale * 100);
  }

  std::vector<Child> children(std::uint32_t parent) {
    std::vector<Child> found;
    for (const NodeShape::Link& link : shape_.links) {
      const bool part_of_tree = link.kind == LinkKind::kPcie || link.kind == LinkKind::kBus ||
                                link.kind == LinkKind::kC2c;
      if (link.from == parent && part_of_tree && !drawn_[link.to]) {
        drawn_[link.to] = true;
        found.push_back({link.to, &link});
      }
    }
    return found;
  }

  bool has_children(std::uint32_t vertex) const {
    return std::any_of(shape_.links.begin(), shape_.links.end(), [&](const NodeShape::Link& link) {
      return link.from == vertex && link.kind == LinkKind::kPcie && !drawn_[link.to];
    });
  }

  bool alike(const Child& a, const Child& b) const {
    const NodeShape::Vertex& left = shape_.vertices[a.vertex];
    const NodeShape::Vertex& right = shape_.vertices[b.vertex];
    return left.word == right.word && left.device == right.device &&
           left.compute_scale == right.compute_scale && a.link->bandwidth == b.link->bandwidth &&
           a.link->failed == b.link->failed;
  }

  void draw_below(std::uint32_t parent, const std::string& indent) {
    const std::vector<Child> all = children(parent);
    for (std::size_t i = 0; i < all.size();) {
      std::size_t end = i + 1;
      while (end < all.size() && !has_children(all[i].vertex) && !has_children(all[end].vertex) &&
             alike(all[i], all[end])) {
        ++end;
      }
      const bool last = end == all.size();
      const std::string names = end - i == 1 ? shape_.name_of(all[i].vertex)
                                             : fmt::format("{} … {}", shape_.name_of(all[i].vertex),
                                                           shape_.name_of(all[end - 1].vertex));
      out_ += fmt::format("{}{}{}  {}{}{}\n", indent, last ? "└─ " : "├─ ", names,
                          link_in_words(*all[i].link), all[i].link->failed ? " FAILED" : "",
                          about(all[i].vertex));
      draw_below(all[i].vertex, indent + (last ? "   " : "│  "));
      i = end;
    }
  }

  // Links outside the tree, grouped by what they are: one line for eight equal NVLinks.
  void draw_rest() {
    std::map<std::tuple<LinkKind, double, std::uint16_t, bool>, std::vector<const NodeShape::Link*>>
        groups;
    for (const NodeShape::Link& link : shape_.links) {
      const bool first_direction = &link <= &shape_.links[link.reverse];
      if (first_direction && (link.kind == LinkKind::kNvlink || link.kind == LinkKind::kSocket ||
                              link.kind == LinkKind::kNetwork)) {
        groups[{link.kind, link.bandwidth.bytes_per_s, link.count, link.failed}].push_back(&link);
      }
    }
    for (const auto& [key, links] : groups) {
      out_ += fmt::format("{}{}: {}\n", link_in_words(*links.front()),
                          std::get<3>(key) ? " FAILED" : "", ends_in_words(links));
    }
  }

  // "gpu0 … gpu7 – nvswitch0" where all meet in one vertex, else pair by pair.
  std::string ends_in_words(const std::vector<const NodeShape::Link*>& links) const {
    constexpr std::size_t kNamed = 16;
    const bool one_hub = std::all_of(links.begin(), links.end(), [&](const NodeShape::Link* link) {
      return link->to == links.front()->to;
    });
    if (one_hub && links.size() > 2) {
      return fmt::format("{} … {} – {}", shape_.name_of(links.front()->from),
                         shape_.name_of(links.back()->from), shape_.name_of(links.front()->to));
    }
    std::string ends;
    for (std::size_t i = 0; i < std::min(links.size(), kNamed); ++i) {
      ends += fmt::format("{}{}–{}", i == 0 ? "" : "  ", shape_.name_of(links[i]->from),
                          shape_.name_of(links[i]->to));
    }
    return links.size() > kNamed ? ends + "  …" : ends;
  }

  const Topology& topology_;
  NodeId node_;
  const NodeShape& shape_;
  std::vector<bool> drawn_;
  std::string out_;
};

}  // namespace

std::string draw_tree(const Topology& topology, NodeId node) {
  std::string tree = TreeDrawing(topology, node).draw();
  while (tree.ends_with('\n')) {
    tree.pop_back();
  }
  return tree;
}

}  // namespace twinrun::cli
