#include "core/nccl/planner.h"

namespace twinrun {

NcclPlanner::NcclPlanner(const Topology& topology,
                         const NcclTables& tables,
                         const NcclLaunch& launch)
    : topology_(topology), tables_(tables), launch_(launch), router_(topology) {}

NcclPlanner::Entry& NcclPlanner::entry(std::span<const VertexId> ranks) {
  std::vector<VertexId> key(ranks.begin(), ranks.end());
  const auto known = entries_.find(key);
  if (known != entries_.end()) {
    return known->second;
  }
  auto result = search_channels(topology_, ranks);
  Entry made{NcclRefusal{}, {}};
  if (auto* search = std::get_if<NcclSearch>(&result)) {
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
