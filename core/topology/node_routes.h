#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/topology/node_shape.h"

namespace twinrun {

// A way inside a machine, by local link numbers.
struct NodeRoute {
  std::vector<std::uint32_t> links;
  PathClass path = PathClass::kDis;
  bool through_host = false;  // staged in host memory because P2P or GPUDirect is not allowed
};

// Shortest ways inside machines of one shape. NVLink counts less than PCIe, PCIe less than a socket
// crossing; GPUs, NICs and memories do not forward; ties go to the lower link number. Computed on
// demand, kept per source.
class NodeRoutes {
 public:
  explicit NodeRoutes(const NodeShape& shape);

  // By the machine's P2P and GPUDirect rules; nothing when there is no way.
  std::optional<NodeRoute> route(std::uint32_t from, std::uint32_t to);
  // Ignoring those rules: where the wires lead.
  std::optional<NodeRoute> direct(std::uint32_t from, std::uint32_t to);
  // The NICs a device can use, best first: nearest class, then fastest wire inside the machine.
  // Among the best equals the device's own turn comes first (device number modulo equals), so that
  // eight GPUs spread over eight NICs.
  const std::vector<std::uint32_t>& nics_of(std::uint32_t device);

 private:
  std::vector<std::uint32_t> rank_nics(std::uint32_t device);
  struct Tree {
    std::vector<std::uint32_t> last_link;  // towards each vertex; kNone where unreachable
  };
  const Tree& tree_from(std::uint32_t source);
  std::optional<NodeRoute> through_host(std::uint32_t from, std::uint32_t to);
  std::optional<std::uint32_t> host_of(std::uint32_t device);
  [[nodiscard]] bool may_go_direct(std::uint32_t from, std::uint32_t to, PathClass path) const;

  const NodeShape& shape_;
  std::vector<std::uint32_t> offsets_;
  std::vector<std::uint32_t> out_;
  std::vector<std::uint32_t> from_;
  std::vector<std::uint32_t> to_;
  std::vector<std::optional<Tree>> trees_;
  std::vector<std::optional<std::vector<std::uint32_t>>> nics_;  // by device, once asked for
};

}  // namespace twinrun
