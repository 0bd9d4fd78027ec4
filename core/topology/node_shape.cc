#include "core/topology/node_shape.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "core/base/check.h"
#include "core/base/did_you_mean.h"
#include "core/base/ids.h"
#include "core/topology/name_pattern.h"
#include "core/topology/trim_shape.h"

namespace twinrun {
namespace {

constexpr int kDeepestNesting = 16;

// The next free number of each word, so that a nested part continues the outer numbering.
std::unordered_map<std::string, std::uint32_t> next_numbers(const NodeShape& shape) {
  std::unordered_map<std::string, std::uint32_t> next;
  for (const NodeShape::Vertex& vertex : shape.vertices) {
    std::uint32_t& number = next[vertex.word];
    number = std::max(number, vertex.number + 1);
  }
  return next;
}

}  // namespace

std::string NodeShape::name_of(std::uint32_t vertex) const {
  return fmt::format("{}{}", vertices[vertex].word, vertices[vertex].number);
}

std::optional<std::uint32_t> NodeShape::find(std::string_view name) const {
  const auto split = split_name(name);
  if (!split) {
    return std::nullopt;
  }
  for (std::uint32_t i = 0; i < vertices.size(); ++i) {
    if (vertices[i].number == split->second && vertices[i].word == split->first) {
      return i;
    }
  }
  return std::nullopt;
}

std::vector<std::uint32_t> NodeShape::of_kind(VertexKind kind) const {
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = 0; i < vertices.size(); ++i) {
    if (vertices[i].kind == kind) {
      found.push_back(i);
    }
  }
  return found;
}

void add_link_pair(std::vector<NodeShape::Link>& links, NodeShape::Link forward, Duplex duplex) {
  const auto index = static_cast<std::uint32_t>(links.size());
  forward.capacity_owner = index;
  forward.reverse = duplex == Duplex::kSimplex ? index : index + 1;
  links.push_back(forward);
  if (duplex == Duplex::kSimplex) {
    return;
  }
  NodeShape::Link backward = forward;
  std::swap(backward.from, backward.to);
  backward.reverse = index;
  backward.capacity_owner = duplex == Duplex::kHalf ? index : index + 1;
  links.push_back(backward);
}

template <class Id>
std::optional<std::vector<std::pair<Id, Id>>> pair_up(const std::vector<Id>& from,
                                                      const std::vector<Id>& to,
                                                      Pairing pairing) {
  std::vector<std::pair<Id, Id>> pairs;
  if (pairing == Pairing::kEach) {
    const bool wider_from = from.size() >= to.size();
    const std::size_t longer = std::max(from.size(), to.size());
    const std::size_t shorter = std::min(from.size(), to.size());
    if (shorter == 0 || longer % shorter != 0) {
      return std::nullopt;
    }
    const std::size_t block = longer / shorter;
    for (std::size_t i = 0; i < longer; ++i) {
      pairs.emplace_back(from[wider_from ? i : i / block], to[wider_from ? i / block : i]);
    }
    return pairs;
  }
  std::set<std::pair<Id, Id>> seen;
  for (const Id a : from) {
    for (const Id b : to) {
      if (a != b && seen.insert(std::minmax(a, b)).second) {
        pairs.emplace_back(a, b);
      }
    }
  }
  return pairs;
}

template std::optional<std::vector<std::pair<std::uint32_t, std::uint32_t>>> pair_up<std::uint32_t>(
    const std::vector<std::uint32_t>&, const std::vector<std::uint32_t>&, Pairing);
template std::optional<std::vector<std::pair<VertexId, VertexId>>> pair_up<VertexId>(
    const std::vector<VertexId>&, const std::vector<VertexId>&, Pairing);

std::optional<NodeShape> ShapeMaker::make(const NodesSpec& nodes) {
  const TemplateSpec* spec = find_template(nodes.template_name, nodes.place);
  if (spec == nullptr) {
    return std::nullopt;
  }
  std::optional<NodeShape> shape = expand(*spec, 0);
  if (shape) {
    trim_shape(*shape, nodes, diagnostics_);
  }
  return shape;
}

const TemplateSpec* ShapeMaker::find_template(const std::string& name, const Place& place) {
  std::vector<std::string> known;
  for (const TemplateSpec& spec : spec_.templates) {
    if (spec.name == name) {
      return &spec;
    }
    known.push_back(spec.name);
  }
  diagnostics_.error("E0301", place, fmt::format("there is no template \"{}\"", name),
                     did_you_mean(name, known));
  return nullptr;
}

std::optional<NodeShape> ShapeMaker::expand(const TemplateSpec& spec, int depth) {
  if (depth > kDeepestNesting) {
    diagnostics_.error("E0302", spec.place,
                       fmt::format("template \"{}\" contains itself, or nests deeper than {}",
                                   spec.name, kDeepestNesting),
                       "a template must not contain itself, directly or through others");
    return std::nullopt;
  }
  NodeShape shape;
  shape.template_name = spec.name;
  shape.p2p = spec.p2p;
  shape.gpu_direct = spec.gpu_direct;
  shape.price_per_hour = spec.price_per_hour;
  shape.watts = spec.watts;
  for (const PartSpec& part : spec.parts) {
    if (!add_part(shape, part, depth)) {
      return std::nullopt;
    }
  }
  for (const LinkSpec& link : spec.links) {
    add_links(shape, link);
  }
  return shape;
}

bool ShapeMaker::too_many(std::size_t vertices, const Place& place) {
  if (vertices <= kMostVertices) {
    return false;
  }
  diagnostics_.error("E0303", place,
                     fmt::format("the topology would have more than {} vertices", kMostVertices),
                     "is a count mistyped?");
  return true;
}

bool ShapeMaker::add_part(NodeShape& shape, const PartSpec& part, int depth) {
  return part.template_name.empty() ? add_vertices(shape, part) : add_nested(shape, part, depth);
}

bool ShapeMaker::add_vertices(NodeShape& shape, const PartSpec& part) {
  if (static_cast<std::size_t>(part.count) > kMostVertices ||
      too_many(shape.vertices.size() + static_cast<std::size_t>(part.count), part.place)) {
    return !too_many(kMostVertices + 1, part.place);
  }
  NodeShape::Vertex vertex;
  vertex.kind = part.kind;
  vertex.word = part.name;
  if (!part.device.empty()) {
    const auto found = std::find_if(spec_.devices.begin(), spec_.devices.end(),
                                    [&](const DeviceSpec& d) { return d.name == part.device; });
    TWINRUN_CHECK(found != spec_.devices.end());  // the loader resolved it
    vertex.device = static_cast<std::uint32_t>(found - spec_.devices.begin());
  }
  std::uint32_t& next = next_numbers(shape)[part.name];
  for (std::int64_t i = 0; i < part.count; ++i) {
    vertex.number = next + static_cast<std::uint32_t>(i);
    vertex.id =
        static_cast<std::size_t>(i) < part.ids.size() ? part.ids[static_cast<std::size_t>(i)] : "";
    shape.vertices.push_back(vertex);
  }
  return true;
}

bool ShapeMaker::add_nested(NodeShape& shape, const PartSpec& part, int depth) {
  const TemplateSpec* spec = find_template(part.template_name, part.place);
  const std::optional<NodeShape> inner = spec != nullptr ? expand(*spec, depth + 1) : std::nullopt;
  if (!inner) {
    return false;
  }
  for (std::int64_t copy = 0; copy < part.count; ++copy) {
    if (too_many(shape.vertices.size() + inner->vertices.size(), part.place)) {
      return false;
    }
    const auto first_vertex = static_cast<std::uint32_t>(shape.vertices.size());
    const auto first_link = static_cast<std::uint32_t>(shape.links.size());
    const auto base = next_numbers(shape);
    for (NodeShape::Vertex vertex : inner->vertices) {
      if (part.name.empty()) {
        const auto taken = base.find(vertex.word);
        vertex.number += taken == base.end() ? 0 : taken->second;
      } else {
        vertex.word = fmt::format("{}{}/{}", part.name, copy, vertex.word);
      }
      shape.vertices.push_back(std::move(vertex));
    }
    for (NodeShape::Link link : inner->links) {
      link.from += first_vertex;
      link.to += first_vertex;
      link.reverse += first_link;
      link.capacity_owner += first_link;
      shape.links.push_back(link);
    }
  }
  return true;
}

std::vector<std::uint32_t> ShapeMaker::resolve(const NodeShape& shape,
                                               const std::vector<std::string>& patterns,
                                               const Place& place) {
  std::vector<std::uint32_t> found;
  for (const std::string& text : patterns) {
    const auto pattern = NamePattern::parse(text);
    const std::size_t before = found.size();
    for (std::uint32_t i = 0; pattern && i < shape.vertices.size(); ++i) {
      if (pattern->matches(shape.name_of(i))) {
        found.push_back(i);
      }
    }
    if (found.size() == before) {
      std::vector<std::string> names;
      for (std::uint32_t i = 0; i < std::min<std::size_t>(shape.vertices.size(), 64); ++i) {
        names.push_back(shape.name_of(i));
      }
      diagnostics_.error(
          "E0304", place,
          fmt::format("no part of template \"{}\" is named \"{}\"", shape.template_name, text),
          did_you_mean(text, names));
    }
  }
  return found;
}

void ShapeMaker::add_links(NodeShape& shape, const LinkSpec& link) {
  const std::vector<std::uint32_t> from = resolve(shape, link.from, link.place);
  const std::vector<std::uint32_t> to = resolve(shape, link.to, link.place);
  if (from.empty() || to.empty()) {
    return;
  }
  const auto pairs = pair_up(from, to, link.pairing);
  if (!pairs) {
    diagnostics_.error("E0305", link.place,
                       fmt::format("cannot pair {} with {} one by one", from.size(), to.size()),
                       "with \"pairing\": \"each\" one side's count must divide the other's");
    return;
  }
  for (const auto& [a, b] : *pairs) {
    NodeShape::Link made;
    made.from = a;
    made.to = b;
    made.kind = link.kind;
    made.count = static_cast<std::uint16_t>(link.count);
    made.bandwidth = {link.bandwidth.bytes_per_s * static_cast<double>(link.count)};
    made.latency = link.latency;
    add_link_pair(shape.links, made, link.duplex);
  }
}

}  // namespace twinrun
