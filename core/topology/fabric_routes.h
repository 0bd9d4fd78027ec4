#pragma once

#include <cstdint>
#include <vector>

#include "core/topology/topology.h"

namespace twinrun {

// Ways through the network, from port to port, one hop at a time towards falling distance. What
// leads nearer is kept per destination switch, computed on demand: no all-pairs table. Where
// several next hops are equally near, the routing rule decides (ECMP by flow hash, or
// destination-mod-k).
class FabricRoutes {
 public:
  explicit FabricRoutes(const Topology& topology);

  // Whether a vertex is an end of any wire of the network.
  [[nodiscard]] bool has_wire(VertexId v) const { return index_[index_of(v)] != kNone; }
  // Appends the links from one port to the other; false when there is no way.
  bool route(VertexId from, VertexId to, std::uint64_t flow, std::vector<LinkId>& out);

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;
  // What leads nearer to one destination, by choice_index_: a place in out_ when it is the only
  // one, out_.size() plus a place in choices_ when there are several, kNone when there is none.
  using Steps = std::vector<std::uint32_t>;
  struct Choice {  // places in out_, in their order
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };

  std::vector<LinkId> collect_links();
  void index_links(const std::vector<LinkId>& links);
  void mark_forwarding();
  void number_choices();
  void number_ports();
  [[nodiscard]] std::uint32_t aim_for(std::uint32_t goal) const;
  const Steps& steps_to(std::uint32_t destination);
  void measure_distances_to(std::uint32_t destination);
  [[nodiscard]] std::uint32_t nearer_from(std::uint32_t v, std::uint32_t destination);
  [[nodiscard]] std::uint32_t keep_choice(std::uint32_t v);
  // The place in out_ of the next hop, or kNone; a choice uses up its digits.
  [[nodiscard]] std::uint32_t next_step(std::uint32_t at,
                                        const Steps& steps,
                                        std::uint64_t& digits) const;

  const Topology& topology_;
  std::vector<VertexId> vertices_;    // ends of network links
  std::vector<std::uint32_t> index_;  // vertex → place in vertices_, or kNone
  std::vector<bool> forwards_;
  std::vector<std::uint32_t> offsets_;  // out links by fabric index
  std::vector<LinkId> out_;
  std::vector<std::uint32_t> target_;  // fabric index, parallel to out_
  std::vector<std::uint32_t> in_offsets_;
  std::vector<std::uint32_t> in_source_;     // fabric index
  std::vector<std::uint32_t> in_step_;       // place in out_, parallel to in_source_
  std::vector<std::uint32_t> choice_index_;  // kNone for a port with one wire: it has no choice
  std::uint32_t choosing_ = 0;               // how many have one
  std::vector<std::uint32_t> port_number_;   // order among ports, for d-mod-k
  std::vector<Steps> steps_;                 // by destination; empty until asked for

  std::vector<Choice> choices_;
  std::vector<std::uint32_t> choice_steps_;
  std::vector<std::vector<std::uint32_t>> choices_of_;  // by choice_index_: places in choices_
  // While the steps to one destination are found:
  std::vector<std::uint32_t> distance_;  // by fabric index; kNone where unreachable
  std::vector<std::uint32_t> reached_;   // in order of distance
  std::vector<std::uint32_t> nearer_;    // places in out_
};

}  // namespace twinrun
