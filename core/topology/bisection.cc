#include "core/topology/bisection.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

#include <boost/graph/boykov_kolmogorov_max_flow.hpp>

#include "core/topology/link_graph.h"

namespace twinrun {
namespace {

// A flow network in flat arrays: every edge is followed by its reverse.
class FlowNetwork {
 public:
  explicit FlowNetwork(std::size_t vertices) : degree_(vertices + 1, 0) {}

  void add(std::uint32_t a, std::uint32_t b, std::int64_t forward, std::int64_t backward) {
    for (const auto& [from, to, capacity] :
         {std::tuple(a, b, forward), std::tuple(b, a, backward)}) {
      from_.push_back(from);
      to_.push_back(to);
      capacity_.push_back(capacity);
      reverse_.push_back(static_cast<std::uint32_t>(reverse_.size() ^ 1U));
      ++degree_[from + 1];
    }
  }

  std::int64_t max_flow(std::uint32_t source, std::uint32_t sink) {
    std::vector<std::uint32_t> offsets = degree_;
    for (std::size_t i = 1; i < offsets.size(); ++i) {
      offsets[i] += offsets[i - 1];
    }
    std::vector<std::uint32_t> out(from_.size());
    std::vector<std::uint32_t> next(offsets.begin(), offsets.end() - 1);
    for (std::uint32_t edge = 0; edge < from_.size(); ++edge) {
      out[next[from_[edge]]++] = edge;
    }
    const LinkGraph graph{offsets, out, from_, to_, reverse_};
    const std::size_t vertices = offsets.size() - 1;
    std::vector<std::int64_t> residual(from_.size());
    std::vector<std::uint32_t> predecessor(vertices);
    std::vector<boost::default_color_type> color(vertices);
    std::vector<std::int64_t> distance(vertices);
    const IndexMap index;
    return boost::boykov_kolmogorov_max_flow(
        graph, boost::make_iterator_property_map(capacity_.begin(), index),
        boost::make_iterator_property_map(residual.begin(), index),
        boost::make_iterator_property_map(reverse_.begin(), index),
        boost::make_iterator_property_map(predecessor.begin(), index),
        boost::make_iterator_property_map(color.begin(), index),
        boost::make_iterator_property_map(distance.begin(), index), index, source, sink);
  }

 private:
  std::vector<std::uint32_t> degree_;
  std::vector<std::uint32_t> from_;
  std::vector<std::uint32_t> to_;
  std::vector<std::uint32_t> reverse_;
  std::vector<std::int64_t> capacity_;
};

// Bytes a second of one unit of flow: 1, or more where all links together would not fit an integer.
double unit_of(const Topology& topology) {
  constexpr double kMostUnits = 1e18;
  double total = 0;
  for (std::size_t l = 0; l < topology.link_count(); ++l) {
    total += topology.bandwidth(id_at<LinkId>(l)).bytes_per_s;
  }
  return std::max(1.0, total / kMostUnits);
}

}  // namespace

Bandwidth bisection_bandwidth(const Topology& topology) {
  const std::vector<VertexId> devices = topology.compute_devices();
  if (devices.size() < 2) {
    return {0};
  }
  constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max() / 4;
  const double unit = unit_of(topology);
  const auto vertices = static_cast<std::uint32_t>(topology.vertex_count());
  const std::uint32_t source = vertices;
  const std::uint32_t sink = vertices + 1;
  FlowNetwork network(vertices + 2);
  for (std::size_t l = 0; l < topology.link_count(); ++l) {
    const LinkId link = id_at<LinkId>(l);
    const bool closed =
        topology.failed(link) || topology.kind(topology.from(link)) == VertexKind::kMemory;
    const auto capacity = std::llround(topology.bandwidth(link).bytes_per_s / unit);
    network.add(static_cast<std::uint32_t>(topology.from(link)),
                static_cast<std::uint32_t>(topology.to(link)), closed ? 0 : capacity, 0);
  }
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const auto device = static_cast<std::uint32_t>(devices[i]);
    if (i < devices.size() / 2) {
      network.add(source, device, kUnlimited, 0);
    } else {
      network.add(device, sink, kUnlimited, 0);
    }
  }
  return {static_cast<double>(network.max_flow(source, sink)) * unit};
}

}  // namespace twinrun
