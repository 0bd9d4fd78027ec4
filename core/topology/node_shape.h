#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/diagnostics.h"
#include "core/topology/spec.h"

namespace twinrun {

// One machine, expanded: the prototype that every instance of a template copies. Vertices and links
// are numbered from 0 within the machine; an instance adds its offsets. A machine with an override
// gets a shape of its own, so that routing never needs to look at single instances.
struct NodeShape {
  static constexpr std::uint32_t kNoDevice = 0xFFFFFFFF;

  struct Vertex {
    VertexKind kind = VertexKind::kGpu;
    std::uint32_t device = kNoDevice;  // index into TopologySpec::devices
    std::string word;                  // "gpu"; a nested part says "board0/gpu"
    std::uint32_t number = 0;
    double compute_scale = 1;
    double memory_bandwidth_scale = 1;
    std::string id;  // bus id or guid when imported
  };
  struct Link {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::uint32_t reverse = 0;         // the other direction; itself for a one-way link
    std::uint32_t capacity_owner = 0;  // itself, or the reverse when both directions share
    LinkKind kind = LinkKind::kPcie;
    std::uint16_t count = 1;
    Bandwidth bandwidth{};  // of all bonded links together
    Time latency{};
    bool failed = false;
  };

  std::string template_name;
  std::vector<Vertex> vertices;
  std::vector<Link> links;
  PathClass p2p = PathClass::kPxb;
  PathClass gpu_direct = PathClass::kPxb;
  std::set<std::pair<std::uint32_t, std::uint32_t>> p2p_denied;  // ordered pairs, both ways
  std::set<std::pair<std::uint32_t, std::uint32_t>> p2p_granted;
  double price_per_hour = 0;
  double watts = 0;

  [[nodiscard]] std::string name_of(std::uint32_t vertex) const;
  [[nodiscard]] std::optional<std::uint32_t> find(std::string_view name) const;
  [[nodiscard]] std::vector<std::uint32_t> of_kind(VertexKind kind) const;
};

// Adds a link, and its other direction unless one-way, to the end of a list.
void add_link_pair(std::vector<NodeShape::Link>& links, NodeShape::Link forward, Duplex duplex);

// What one topology may have, so that a mistyped count is a complaint and not gigabytes.
struct SizeLimits {
  static constexpr std::size_t kVertices = 4'000'000;  // of a whole topology
  static constexpr std::size_t kLinks = 16'000'000;
  static constexpr std::size_t kVerticesOfMachine = 200'000;
  static constexpr std::size_t kLinksOfMachine = 1'000'000;
};

// Expands templates; complains (E0301 …) about unknown names, nesting in circles and sizes. Each
// template is expanded once, however often it is used, so neither work nor complaints multiply.
class ShapeMaker {
 public:
  ShapeMaker(const TopologySpec& spec, Diagnostics& diagnostics)
      : spec_(spec), diagnostics_(diagnostics) {}

  // The shape of these machines with their gpus/nics/nic/devices keys applied; nothing when wrong.
  std::optional<NodeShape> make(const NodesSpec& nodes);

 private:
  // The next free number of each word, so that a nested part continues the outer numbering.
  using NextNumbers = std::unordered_map<std::string, std::uint32_t>;

  const TemplateSpec* find_template(const std::string& name, const Place& place);
  const NodeShape* expanded(const TemplateSpec& spec, const Place& place);  // null when wrong
  std::optional<NodeShape> expand(const TemplateSpec& spec);
  std::optional<NodeShape> widened(const TemplateSpec& spec, const NodesSpec& nodes);
  bool add_vertices(NodeShape& shape, const PartSpec& part, NextNumbers& next);
  bool add_nested(NodeShape& shape, const PartSpec& part, NextNumbers& next);
  void add_links(NodeShape& shape, const LinkSpec& link);
  std::vector<std::uint32_t> resolve(const NodeShape& shape,
                                     const std::vector<std::string>& patterns,
                                     const Place& place);
  bool fits(double vertices, double links, const Place& place);

  const TopologySpec& spec_;
  Diagnostics& diagnostics_;
  std::unordered_map<std::string, std::optional<NodeShape>> expanded_;  // nothing: wrong
  std::vector<std::string> open_;  // templates being expanded, outermost first
};

// The pairs of a link entry: shared by templates and explicit fabrics. Nothing when they cannot be
// paired one by one. Nobody is paired with itself.
template <class Id>
std::optional<std::vector<std::pair<Id, Id>>> pair_up(const std::vector<Id>& from,
                                                      const std::vector<Id>& to,
                                                      Pairing pairing);
// E0305: what pair_up() could not do.
void complain_about_pairing(std::size_t from,
                            std::size_t to,
                            bool with_itself,
                            const Place& place,
                            Diagnostics& diagnostics);

}  // namespace twinrun
