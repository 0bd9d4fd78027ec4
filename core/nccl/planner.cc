#include "core/nccl/planner.h"

#include <algorithm>

namespace twinrun {

NcclPlanner::NcclPlanner(const Topology& topology,
                         const NcclTables& tables,
                         const NcclLaunch& launch)
    : topology_(topology), tables_(tables), launch_(launch), router_(topology) {}

// The longest way from one machine to the next, as far as it is wires between machines. NCCL's
// figures for a network hop come from clusters whose wires take a microsecond or two.
double NcclPlanner::wire_latency_us(const NcclSearch& search) {
  constexpr double kWithinNcclsFiguresUs = 2;
  double longest = 0;
  for (std::size_t i = 0; i + 1 < search.members.size(); ++i) {
    const auto route =
        router_.route(search.members[i].gpus.front(), search.members[i + 1].gpus.front());
    double wires = 0;
    for (const LinkId link : route ? route->links : std::vector<LinkId>()) {
      const bool is_wire = topology_.link_kind(link) == LinkKind::kNetwork;
      wires += is_wire ? to_microseconds(topology_.latency(link)) : 0;
    }
    longest = std::max(longest, wires);
  }
  const double at_nics = search.graphs.ring.nic_latency_us;  // counted apart
  return std::max(0.0, longest - at_nics - kWithinNcclsFiguresUs);
}

NcclPlanner::Entry& NcclPlanner::entry(std::span<const VertexId> ranks) {
  std::vector<VertexId> key(ranks.begin(), ranks.end());
  const auto known = entries_.find(key);
  if (known != entries_.end()) {
    return known->second;
  }
  auto result = search_channels(topology_, ranks);
  Entry made{NcclRefusal{}, {}};
  if (auto* search = std::get_if<NcclSearch>(&result)) {
    search->system.wire_latency_us = wire_latency_us(*search);
    const NcclPrediction prediction(*search, tables_, launch_);
    made.plan = NcclPlan{std::move(*search), prediction};
  } else {
    made.plan = std::get<NcclRefusal>(result);
  }
  return entries_.emplace(std::move(key), std::move(made)).first->second;
}

const std::variant<NcclPlan, NcclRefusal>& NcclPlanner::plan(std::span<const VertexId> ranks) {
  return entry(ranks).plan;
}

const NcclTraffic& NcclPlanner::traffic(std::span<const VertexId> ranks,
                                        CollectiveKind collective,
                                        NcclAlgorithm algorithm) {
  Entry& found = entry(ranks);
  const auto [place, added] = found.traffic.try_emplace({collective, algorithm});
  const auto* plan = std::get_if<NcclPlan>(&found.plan);
  if (added && plan != nullptr) {
    place->second = nccl_traffic(topology_, plan->search, collective, algorithm, router_);
  }
  return place->second;
}

}  // namespace twinrun
