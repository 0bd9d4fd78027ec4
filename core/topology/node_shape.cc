#include "core/topology/node_shape.h"

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/check.h"
#include "core/base/did_you_mean.h"
#include "core/base/ids.h"
#include "core/topology/name_pattern.h"
#include "core/topology/trim_shape.h"

namespace twinrun {
namespace {

constexpr std::size_t kDeepestNesting = 16;

// {a, b} as one number, whichever comes first.
template <class Id>
std::uint64_t unordered_pair(Id a, Id b) {
  const auto low = static_cast<std::uint64_t>(std::min(a, b));
  const auto high = static_cast<std::uint64_t>(std::max(a, b));
  return low << 32U | high;
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
      const Id a = from[wider_from ? i : i / block];
      const Id b = to[wider_from ? i / block : i];
      if (a != b) {
        pairs.emplace_back(a, b);
      }
    }
    return pairs;
  }
  std::unordered_set<std::uint64_t> seen;
  for (const Id a : from) {
    for (const Id b : to) {
      if (a != b && seen.insert(unordered_pair(a, b)).second) {
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

void complain_about_pairing(std::size_t from,
                            std::size_t to,
                            bool with_itself,
                            const Place& place,
                            Diagnostics& diagnostics) {
  if (with_itself) {
    diagnostics.error("E0305", place, "the link would join a part with itself",
                      "\"from\" and \"to\" must name different parts");
  } else {
    diagnostics.error("E0305", place, fmt::format("cannot pair {} with {} one by one", from, to),
                      "with \"pairing\": \"each\" one side's count must divide the other's");
  }
}

std::optional<NodeShape> ShapeMaker::make(const NodesSpec& nodes) {
  const TemplateSpec* spec = find_template(nodes.template_name, nodes.place);
  const NodeShape* whole = spec != nullptr ? expanded(*spec, nodes.place) : nullptr;
  if (whole == nullptr) {
    return std::nullopt;
  }
  const bool more_devices =
      nodes.devices &&
      *nodes.devices > static_cast<std::int64_t>(whole->of_kind(VertexKind::kCpu).size());
  std::optional<NodeShape> shape = more_devices ? widened(*spec, nodes) : *whole;
  if (shape) {
    trim_shape(*shape, nodes, diagnostics_);
  }
  return shape;
}

// More CPU devices than the template has: the part gets a larger count, so that link patterns such
// as cpu* reach the new ones as they reach the old.
std::optional<NodeShape> ShapeMaker::widened(const TemplateSpec& spec, const NodesSpec& nodes) {
  TemplateSpec wider = spec;
  std::vector<PartSpec*> cpus;
  bool has_gpus = false;
  for (PartSpec& part : wider.parts) {
    if (part.template_name.empty() && part.kind == VertexKind::kCpu) {
      cpus.push_back(&part);
    }
    has_gpus = has_gpus || part.kind == VertexKind::kGpu;
  }
  if (cpus.size() != 1 || has_gpus) {
    diagnostics_.error(
        "E0306", nodes.place,
        fmt::format("a \"{}\" cannot have {} CPU devices", nodes.template_name, *nodes.devices),
        "\"devices\" counts the CPUs of machines without GPUs, such as cpu:devices=4");
    return std::nullopt;
  }
  cpus.front()->count = *nodes.devices;
  return expand(wider);
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

const NodeShape* ShapeMaker::expanded(const TemplateSpec& spec, const Place& place) {
  const bool in_a_circle = std::find(open_.begin(), open_.end(), spec.name) != open_.end();
  if (in_a_circle || open_.size() > kDeepestNesting) {
    diagnostics_.error("E0302", place,
                       in_a_circle ? fmt::format("template \"{}\" contains itself: {} > {}",
                                                 spec.name, fmt::join(open_, " > "), spec.name)
                                   : fmt::format("templates nest deeper than {}: {}",
                                                 kDeepestNesting, fmt::join(open_, " > ")),
                       "a template must not contain itself, directly or through others");
    return nullptr;
  }
  const auto known = expanded_.find(spec.name);
  if (known != expanded_.end()) {
    return known->second ? &*known->second : nullptr;
  }
  open_.push_back(spec.name);
  std::optional<NodeShape> shape = expand(spec);
  open_.pop_back();
  std::optional<NodeShape>& kept = expanded_[spec.name] = std::move(shape);
  return kept ? &*kept : nullptr;
}

std::optional<NodeShape> ShapeMaker::expand(const TemplateSpec& spec) {
  NodeShape shape;
  shape.template_name = spec.name;
  shape.p2p = spec.p2p;
  shape.gpu_direct = spec.gpu_direct;
  shape.price_per_hour = spec.price_per_hour;
  shape.watts = spec.watts;
  NextNumbers next;
  bool good = true;  // go on after a mistake: the next part may have another
  for (const PartSpec& part : spec.parts) {
    const bool added = part.template_name.empty() ? add_vertices(shape, part, next)
                                                  : add_nested(shape, part, next);
    good = good && added;
  }
  if (!good) {
    return std::nullopt;  // links would complain about the missing parts
  }
  for (const LinkSpec& link : spec.links) {
    add_links(shape, link);
  }
  return shape;
}

// Doubles: products of counts may be beyond any integer.
bool ShapeMaker::fits(double vertices, double links, const Place& place) {
  const bool too_many_vertices = vertices > static_cast<double>(SizeLimits::kVerticesOfMachine);
  const bool too_many_links = links > static_cast<double>(SizeLimits::kLinksOfMachine);
  if (too_many_vertices || too_many_links) {
    diagnostics_.error(
        "E0303", place,
        fmt::format(
            "a machine would have {:.0f} {}, more than {}", too_many_vertices ? vertices : links,
            too_many_vertices ? "parts" : "links",
            too_many_vertices ? SizeLimits::kVerticesOfMachine : SizeLimits::kLinksOfMachine),
        "is a count mistyped?");
  }
  return !too_many_vertices && !too_many_links;
}

bool ShapeMaker::add_vertices(NodeShape& shape, const PartSpec& part, NextNumbers& next) {
  const auto count = static_cast<double>(part.count);
  if (!fits(static_cast<double>(shape.vertices.size()) + count, 0, part.place)) {
    return false;
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
  std::uint32_t& number = next[part.name];
  for (std::size_t i = 0; i < static_cast<std::size_t>(part.count); ++i) {
    vertex.number = number++;
    vertex.id = i < part.ids.size() ? part.ids[i] : "";
    shape.vertices.push_back(vertex);
  }
  return true;
}

bool ShapeMaker::add_nested(NodeShape& shape, const PartSpec& part, NextNumbers& next) {
  const TemplateSpec* spec = find_template(part.template_name, part.place);
  const NodeShape* inner = spec != nullptr ? expanded(*spec, part.place) : nullptr;
  const auto copies = static_cast<double>(part.count);
  if (inner == nullptr ||
      !fits(static_cast<double>(shape.vertices.size()) +
                copies * static_cast<double>(std::max<std::size_t>(inner->vertices.size(), 1)),
            static_cast<double>(shape.links.size()) +
                copies * static_cast<double>(inner->links.size()),
            part.place)) {
    return false;
  }
  NextNumbers inner_next;
  for (const NodeShape::Vertex& vertex : inner->vertices) {
    inner_next[vertex.word] = std::max(inner_next[vertex.word], vertex.number + 1);
  }
  for (std::int64_t copy = 0; copy < part.count; ++copy) {
    const auto first_vertex = static_cast<std::uint32_t>(shape.vertices.size());
    const auto first_link = static_cast<std::uint32_t>(shape.links.size());
    const std::uint32_t number = part.name.empty() ? 0 : next[part.name + "/"]++;
    for (NodeShape::Vertex vertex : inner->vertices) {
      if (part.name.empty()) {
        vertex.number += next[vertex.word];
      } else {
        vertex.word = fmt::format("{}{}/{}", part.name, number, vertex.word);
      }
      shape.vertices.push_back(std::move(vertex));
    }
    for (const auto& [word, used] : inner_next) {
      next[word] += part.name.empty() ? used : 0;
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
  const double most = static_cast<double>(
      link.pairing == Pairing::kAll ? from.size() * to.size() : std::max(from.size(), to.size()));
  if (!fits(0, static_cast<double>(shape.links.size()) + most, link.place)) {
    return;
  }
  const auto pairs = pair_up(from, to, link.pairing);
  if (!pairs || pairs->empty()) {
    complain_about_pairing(from.size(), to.size(), pairs.has_value(), link.place, diagnostics_);
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
