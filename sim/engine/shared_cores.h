#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/topology/topology.h"
#include "sim/net/flow_network.h"

namespace twinrun::sim {

// Cores that devices share (Topology::core_groups) as one more capacity of the network each, so
// that what computes and what moves bytes share them max-min fairly. Its unit is what a core moves:
//
//   c cores               a link of c · moves
//   compute of t seconds  a flow of t · moves bytes over it, at most moves: never more than a core
//   a message             a flow that also crosses the cores of its receiver, or of both ends
//
// So five tasks on two cores run at two fifths each, and a message that is slow for another reason
// (its wire) leaves the rest of its core to others.
class SharedCores {
 public:
  // `cores` > 0: so many in each group, instead of what the topology says.
  SharedCores(const Topology& topology, double cores);

  [[nodiscard]] bool empty() const { return topology_.core_groups().empty(); }
  // Adds the cores behind the links of the topology.
  [[nodiscard]] SharedLinks with_links(SharedLinks links);

  struct Task {
    LinkId cores{};
    Bytes bytes{};
    Bandwidth most{};
  };
  // What a device's compute is to the network; nothing when it shares no cores.
  [[nodiscard]] std::optional<Task> task(VertexId device, Time work) const;

  // How long a stream of the device takes to wake, when it waited for an op of another.
  [[nodiscard]] Time wake(VertexId device) const;

  // The links of a message with the cores that it costs. Valid until the next call.
  std::span<const LinkId> with_cores(std::span<const LinkId> links, VertexId from, VertexId to);

 private:
  const Topology& topology_;
  double cores_;
  std::vector<LinkId> link_of_group_;
  std::vector<LinkId> scratch_;
};

}  // namespace twinrun::sim
