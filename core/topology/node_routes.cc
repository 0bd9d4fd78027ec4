#include "core/topology/node_routes.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include <boost/graph/dijkstra_shortest_paths.hpp>

#include "core/topology/link_graph.h"
#include "core/topology/path_class.h"

namespace twinrun {
namespace {

constexpr std::uint32_t kNone = 0xFFFFFFFF;
constexpr std::uint64_t kUnreachable = std::numeric_limits<std::uint64_t>::max() / 4;

// Each kind outweighs any sensible number of hops of the kinds before it.
std::uint64_t weight_of(LinkKind kind) {
  switch (kind) {
    case LinkKind::kNvlink:
    case LinkKind::kC2c:
      return 1;
    case LinkKind::kPcie:
    case LinkKind::kBus:
      return 100;
    case LinkKind::kSocket:
      return 10'000;
    case LinkKind::kNetwork:
      return 1'000'000;
  }
  return 1;
}

bool forwards(VertexKind kind) {
  return kind != VertexKind::kGpu && kind != VertexKind::kNic && kind != VertexKind::kMemory;
}

// Remembers over which link the best way reaches each vertex.
class LastLink : public boost::dijkstra_visitor<> {
 public:
  explicit LastLink(std::vector<std::uint32_t>& last) : last_(&last) {}
  void edge_relaxed(std::uint32_t edge, const LinkGraph& graph) { (*last_)[graph.to[edge]] = edge; }

 private:
  std::vector<std::uint32_t>* last_;
};

}  // namespace

NodeRoutes::NodeRoutes(const NodeShape& shape)
    : shape_(shape),
      offsets_(shape.vertices.size() + 1, 0),
      trees_(shape.vertices.size()),
      nics_(shape.vertices.size()) {
  for (const NodeShape::Link& link : shape.links) {
    from_.push_back(link.from);
    to_.push_back(link.to);
    ++offsets_[link.from + 1];
  }
  for (std::size_t i = 1; i < offsets_.size(); ++i) {
    offsets_[i] += offsets_[i - 1];
  }
  out_.resize(shape.links.size());
  std::vector<std::uint32_t> next(offsets_.begin(), offsets_.end() - 1);
  for (std::uint32_t link = 0; link < shape.links.size(); ++link) {
    out_[next[from_[link]]++] = link;
  }
}

const NodeRoutes::Tree& NodeRoutes::tree_from(std::uint32_t source) {
  std::optional<Tree>& tree = trees_[source];
  if (tree) {
    return *tree;
  }
  tree.emplace();
  tree->last_link.assign(shape_.vertices.size(), kNone);
  std::vector<std::uint64_t> distance(shape_.vertices.size());
  std::vector<std::uint32_t> unused(shape_.vertices.size());
  std::vector<std::uint64_t> weight(shape_.links.size());
  for (std::size_t i = 0; i < weight.size(); ++i) {
    const NodeShape::Link& link = shape_.links[i];
    const bool open = link.from == source || forwards(shape_.vertices[link.from].kind);
    weight[i] = open && !link.failed ? weight_of(link.kind) : kUnreachable;
  }
  const LinkGraph graph{offsets_, out_, from_, to_, {}};
  const IndexMap index;
  boost::dijkstra_shortest_paths(
      graph, source,
      boost::weight_map(boost::make_iterator_property_map(weight.begin(), index))
          .distance_map(boost::make_iterator_property_map(distance.begin(), index))
          .predecessor_map(boost::make_iterator_property_map(unused.begin(), index))
          .vertex_index_map(index)
          .distance_inf(kUnreachable)
          .visitor(LastLink(tree->last_link)));
  return *tree;
}

std::optional<NodeRoute> NodeRoutes::direct(std::uint32_t from, std::uint32_t to) {
  const Tree& tree = tree_from(from);
  NodeRoute route;
  for (std::uint32_t at = to; at != from; at = from_[route.links.back()]) {
    if (tree.last_link[at] == kNone) {
      return std::nullopt;
    }
    route.links.push_back(tree.last_link[at]);
  }
  std::reverse(route.links.begin(), route.links.end());
  route.path = classify(shape_, route.links);
  return route;
}

bool NodeRoutes::may_go_direct(std::uint32_t from, std::uint32_t to, PathClass path) const {
  const VertexKind a = shape_.vertices[from].kind;
  const VertexKind b = shape_.vertices[to].kind;
  const bool gpu_pair = a == VertexKind::kGpu && b == VertexKind::kGpu;
  const bool gpu_and_nic = (a == VertexKind::kGpu && b == VertexKind::kNic) ||
                           (a == VertexKind::kNic && b == VertexKind::kGpu);
  if (gpu_pair) {
    if (shape_.p2p_denied.contains({from, to})) {
      return false;
    }
    return shape_.p2p_granted.contains({from, to}) || path <= shape_.p2p;
  }
  return !gpu_and_nic || path <= shape_.gpu_direct;
}

std::optional<NodeRoute> NodeRoutes::route(std::uint32_t from, std::uint32_t to) {
  std::optional<NodeRoute> way = direct(from, to);
  if (from == to || (way && may_go_direct(from, to, way->path))) {
    return way;
  }
  return through_host(from, to);
}

// Host memory nearest to the device; a CPU where no memory is modelled.
std::optional<std::uint32_t> NodeRoutes::host_of(std::uint32_t device) {
  std::vector<std::uint32_t> hosts = shape_.of_kind(VertexKind::kMemory);
  if (hosts.empty()) {
    hosts = shape_.of_kind(VertexKind::kCpu);
  }
  std::optional<std::uint32_t> best;
  std::tuple<PathClass, std::size_t> best_rank;
  for (const std::uint32_t host : hosts) {
    const std::optional<NodeRoute> way = direct(device, host);
    if (!way) {
      continue;
    }
    const std::tuple rank(way->path, way->links.size());
    if (!best || rank < best_rank) {
      best = host;
      best_rank = rank;
    }
  }
  return best;
}

// The sender writes to memory of its own socket, the receiver reads from there: gpu0 → cpu0 → mem0
// → cpu0 → gpu1. Both crossings of the memory bus are real and load it twice.
std::optional<NodeRoute> NodeRoutes::through_host(std::uint32_t from, std::uint32_t to) {
  const bool sender_is_gpu = shape_.vertices[from].kind == VertexKind::kGpu;
  const std::optional<std::uint32_t> host = host_of(sender_is_gpu ? from : to);
  std::optional<NodeRoute> there = host ? direct(from, *host) : std::nullopt;
  const std::optional<NodeRoute> back = host ? direct(*host, to) : std::nullopt;
  if (!there || !back) {
    return std::nullopt;
  }
  there->links.insert(there->links.end(), back->links.begin(), back->links.end());
  there->path = classify(shape_, there->links);
  there->through_host = true;
  return there;
}

const std::vector<std::uint32_t>& NodeRoutes::nics_of(std::uint32_t device) {
  if (!nics_[device]) {
    nics_[device] = rank_nics(device);
  }
  return *nics_[device];
}

std::vector<std::uint32_t> NodeRoutes::rank_nics(std::uint32_t device) {
  std::vector<std::tuple<PathClass, double, std::uint32_t>> ranked;
  for (const std::uint32_t nic : shape_.of_kind(VertexKind::kNic)) {
    const std::optional<NodeRoute> way = direct(device, nic);
    if (!way) {
      continue;
    }
    double slowest = std::numeric_limits<double>::max();
    for (const std::uint32_t link : way->links) {
      slowest = std::min(slowest, shape_.links[link].bandwidth.bytes_per_s);
    }
    ranked.emplace_back(way->path, -slowest, nic);
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::uint32_t> nics;
  std::uint32_t best = 0;
  for (const auto& [path, speed, nic] : ranked) {
    nics.push_back(nic);
    best += path == std::get<0>(ranked[0]) && speed == std::get<1>(ranked[0]) ? 1U : 0U;
  }
  // The device's turn among those of its kind for which the same NICs are nearest would need a
  // second pass; its own number does as well while machines are regular.
  if (best > 0) {
    const std::uint32_t turn = shape_.vertices[device].number % best;
    std::rotate(nics.begin(), nics.begin() + turn, nics.begin() + turn + 1);
  }
  return nics;
}

}  // namespace twinrun
