#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/topology/fabric.h"

namespace twinrun {
namespace {

// A k-port switch has k/2 ports down; a leaf has about k/2 / oversubscription up, whose speed makes
// up for the rounding: the uplinks of a leaf together are its downlinks / oversubscription.
//
//   core(a,c)                       u·d of them; core (a,c) joins aggregation switch a of every pod
//      |
//   agg a of a pod                  u a pod, each to all d leaves of its pod
//      |
//   leaf: d ports down
struct Shape {
  std::size_t down = 0;  // d
  std::size_t up = 0;    // u
  std::size_t levels = 0;
  std::size_t most_ports = 0;  // what this many levels of these switches can carry
};

Shape shape_of(const FabricSpec& spec, std::size_t ports) {
  Shape shape;
  shape.levels = static_cast<std::size_t>(spec.levels.value_or(3));
  std::size_t k = static_cast<std::size_t>(spec.ports.value_or(2));
  const auto most = [&] {
    const std::size_t d = k / 2;
    return shape.levels == 1 ? k : shape.levels == 2 ? d * k : d * d * k;
  };
  while (!spec.ports && most() < ports) {
    k += 2;  // the smallest switch that will do
  }
  shape.down = shape.levels == 1 ? k : k / 2;
  const std::size_t half = k / 2;
  const double up = std::round(static_cast<double>(half) / std::max(spec.oversubscription, 1.0));
  shape.up = std::max<std::size_t>(1, static_cast<std::size_t>(up));
  shape.most_ports = most();
  return shape;
}

Bandwidth uplink_of(const FabricSpec& spec, const Shape& shape, const std::vector<Port>& ports) {
  const auto fastest =
      std::max_element(ports.begin(), ports.end(),
                       [](const Port& a, const Port& b) { return a.bandwidth < b.bandwidth; });
  return {fastest->bandwidth.bytes_per_s * static_cast<double>(shape.down) / spec.oversubscription /
          static_cast<double>(shape.up)};
}

std::vector<VertexId> plug_into_leaves(const FabricInput& input,
                                       const std::vector<Port>& ports,
                                       std::size_t down) {
  std::vector<VertexId> leaves;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (i % down == 0) {
      leaves.push_back(input.builder.add_switch("leaf"));
    }
    input.plug(ports[i], leaves.back());
  }
  return leaves;
}

void add_cores(const FabricInput& input,
               const std::vector<VertexId>& aggs,
               const Shape& shape,
               Bandwidth uplink) {
  for (std::size_t a = 0; a < shape.up; ++a) {
    for (std::size_t c = 0; c < shape.down; ++c) {
      const VertexId core = input.builder.add_switch("core");
      for (std::size_t pod = 0; pod < aggs.size() / shape.up; ++pod) {
        input.join_switches(aggs[pod * shape.up + a], core, uplink);
      }
    }
  }
}

}  // namespace

void generate_fat_tree(const FabricInput& input) {
  std::vector<Port> ports;
  for (const std::vector<Port>& machine : input.ports) {
    ports.insert(ports.end(), machine.begin(), machine.end());
  }
  const Shape shape = shape_of(input.spec, ports.size());
  if (ports.size() > shape.most_ports) {
    input.diagnostics.error(
        "E0307", input.spec.place,
        fmt::format("{} ports do not fit a fat-tree of {} levels of {}-port switches, which has {}",
                    ports.size(), shape.levels, input.spec.ports.value_or(0), shape.most_ports),
        "give more \"ports\" or \"levels\"");
    return;
  }
  const std::vector<VertexId> leaves = plug_into_leaves(input, ports, shape.down);
  if (leaves.size() < 2) {
    input.warn_of_no_uplinks();
    return;
  }
  const std::size_t pod_leaves = shape.levels == 2 ? leaves.size() : shape.down;
  const double pods =
      std::ceil(static_cast<double>(leaves.size()) / static_cast<double>(pod_leaves));
  const double wires = static_cast<double>(shape.up) * (static_cast<double>(leaves.size()) +
                                                        pods * static_cast<double>(shape.down));
  if (!input.fits(wires)) {
    return;
  }
  const Bandwidth uplink =
      input.spec.uplink_bandwidth.value_or(uplink_of(input.spec, shape, ports));
  std::vector<VertexId> aggs;
  for (std::size_t first = 0; first < leaves.size(); first += pod_leaves) {
    for (std::size_t a = 0; a < shape.up; ++a) {
      aggs.push_back(input.builder.add_switch(shape.levels == 2 ? "spine" : "agg"));
      for (std::size_t i = first; i < std::min(first + pod_leaves, leaves.size()); ++i) {
        input.join_switches(leaves[i], aggs.back(), uplink);
      }
    }
  }
  if (aggs.size() > shape.up) {
    add_cores(input, aggs, shape, uplink);
  }
}

}  // namespace twinrun
