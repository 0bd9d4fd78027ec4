#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/topology/topology.h"

namespace twinrun {

// Ways through the network, from port to port, one hop at a time towards falling distance.
// Distances are kept per destination switch, computed on demand: no all-pairs table. Where several
// next hops are equally near, the routing rule decides (ECMP by flow hash, or destination-mod-k).
class FabricRoutes {
 public:
  explicit FabricRoutes(const Topology& topology);

  // Whether a vertex is an end of any wire of the network.
  [[nodiscard]] bool has_wire(VertexId v) const {
    return index_.contains(static_cast<std::uint32_t>(v));
  }
  // Appends the links from one port to the other; false when there is no way.
  bool route(VertexId from, VertexId to, std::uint64_t flow, std::vector<LinkId>& out);

 private:
  using Distances = std::vector<std::uint32_t>;  // by fabric vertex; kFar where unreachable
  static constexpr std::uint32_t kFar = 0xFFFFFFFF;

  std::vector<LinkId> collect_links();
  void index_links(const std::vector<LinkId>& links);
  void mark_forwarding();
  void number_ports();
  [[nodiscard]] std::uint32_t next_step(std::uint32_t at,
                                        std::uint32_t aim,
                                        std::uint32_t goal,
                                        const Distances& distance,
                                        std::uint64_t& digits) const;
  const Distances& distances_to(std::uint32_t destination);
  [[nodiscard]] std::uint32_t index_in_fabric(VertexId v) const;

  const Topology& topology_;
  std::vector<VertexId> vertices_;                          // ends of network links
  std::unordered_map<std::uint32_t, std::uint32_t> index_;  // vertex → place in vertices_
  std::vector<bool> forwards_;
  std::vector<std::uint32_t> offsets_;  // out links by fabric index
  std::vector<LinkId> out_;
  std::vector<std::uint32_t> target_;  // fabric index, parallel to out_
  std::vector<std::uint32_t> in_offsets_;
  std::vector<std::uint32_t> in_source_;    // fabric index
  std::vector<std::uint32_t> port_number_;  // order among ports, for d-mod-k
  std::unordered_map<std::uint32_t, Distances> distances_;
};

}  // namespace twinrun
