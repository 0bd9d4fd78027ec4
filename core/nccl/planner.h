#pragma once

#include <map>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "core/nccl/prediction.h"
#include "core/nccl/search.h"
#include "core/nccl/traffic.h"

namespace twinrun {

// All that is known of NCCL among some ranks.
struct NcclPlan {
  NcclSearch search;
  NcclPrediction prediction;
};

// Asks the search once for each list of ranks and keeps the answers, which stay where they are as
// long as the planner does. The topology must outlive it. One planner a thread.
class NcclPlanner {
 public:
  explicit NcclPlanner(const Topology& topology,
                       const NcclTables& tables = default_nccl_tables(),
                       const NcclLaunch& launch = {});

  const std::variant<NcclPlan, NcclRefusal>& plan(std::span<const VertexId> ranks);
  // Which links these ranks load, and how much; nothing for ranks that were refused.
  const NcclTraffic& traffic(std::span<const VertexId> ranks,
                             CollectiveKind collective,
                             NcclAlgorithm algorithm);

 private:
  struct Entry {
    std::variant<NcclPlan, NcclRefusal> plan;
    std::map<std::pair<CollectiveKind, NcclAlgorithm>, NcclTraffic> traffic;
  };
  Entry& entry(std::span<const VertexId> ranks);
  double wire_latency_us(const NcclSearch& search);

  const Topology& topology_;
  NcclTables tables_;
  NcclLaunch launch_;
  Router router_;
  std::map<std::vector<VertexId>, Entry> entries_;
};

}  // namespace twinrun
