#include "cli/running_cost.h"

#include <set>

namespace twinrun::cli {
namespace {

// The figure of a machine, 0 when nothing is known.
double figure_of(const Topology& topology,
                 NodeId node,
                 double NodeShape::*of_machine,
                 double DeviceSpec::*of_device) {
  const NodeShape& shape = topology.shape(node);
  if (shape.*of_machine > 0) {
    return shape.*of_machine;
  }
  double sum = 0;
  for (std::uint32_t i = 0; i < shape.vertices.size(); ++i) {
    const DeviceSpec* const device = topology.device(topology.vertex_in(node, i));
    sum += device == nullptr ? 0 : device->*of_device;
  }
  return sum;
}

std::optional<double> total(const Topology& topology,
                            const std::set<NodeId>& nodes,
                            double NodeShape::*of_machine,
                            double DeviceSpec::*of_device) {
  double sum = 0;
  for (const NodeId node : nodes) {
    const double figure = figure_of(topology, node, of_machine, of_device);
    if (figure <= 0) {
      return std::nullopt;
    }
    sum += figure;
  }
  return nodes.empty() ? std::nullopt : std::optional(sum);
}

}  // namespace

RunningCost running_cost(const Topology& topology, std::span<const VertexId> devices) {
  std::set<NodeId> nodes;
  for (const VertexId device : devices) {
    nodes.insert(topology.node_of(device));
  }
  return {total(topology, nodes, &NodeShape::price_per_hour, &DeviceSpec::price_per_hour),
          total(topology, nodes, &NodeShape::watts, &DeviceSpec::watts)};
}

}  // namespace twinrun::cli
