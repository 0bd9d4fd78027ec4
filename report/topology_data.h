#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/topology/topology.h"

namespace twinrun::report {

// The cluster for the page's drawing, with what links carried (`links` of a result, by LinkId; an
// empty array when that is not known):
//
//   machines   how many
//   details    the inside of machines, the busiest ones, as vertices and links
//   boxes      machines and switches of the network; tiers of more than some are one box
//   wires      between boxes, all links between two taken together
//   busiest    the links that were busiest, for a table
//
// A link of a machine is [from, to, kind, GB/s, latency in us, how many are bonded, there, back],
// `there` and `back` being [bytes, busy %] or null. "left_out" says in a sentence what is not
// drawn.
nlohmann::ordered_json topology_data(const Topology& topology, const nlohmann::ordered_json& links);

}  // namespace twinrun::report
