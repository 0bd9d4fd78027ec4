#pragma once

#include "core/nccl/graph.h"
#include "core/nccl/tuning_tables.h"
#include "core/plan/op.h"

namespace twinrun {

// The three questions of NCCL's model about one collective, algorithm and protocol, as pure
// functions of what is known before any size is; NcclModel asks them once each.
struct NcclSetting {
  const NcclSystem& system;
  const NcclSearchGraphs& graphs;
  const NcclTables& tables;

  [[nodiscard]] int ranks_per_node() const { return system.ranks / system.nodes; }
  [[nodiscard]] std::size_t generation() const;    // row of the caps
  [[nodiscard]] std::size_t nodes_column() const;  // column of the caps
};

struct NcclWay {
  CollectiveKind collective = CollectiveKind::kAllReduce;
  NcclAlgorithm algorithm = NcclAlgorithm::kRing;
  NcclProtocol protocol = NcclProtocol::kSimple;
};

[[nodiscard]] const NcclSearchGraph& graph_of(const NcclSetting& setting, NcclAlgorithm algorithm);
[[nodiscard]] bool nccl_allows(const NcclSetting& setting, const NcclWay& way);        // 3.6
[[nodiscard]] double nccl_bandwidth(const NcclSetting& setting, const NcclWay& way);   // 3.4, GB/s
[[nodiscard]] double nccl_latency_us(const NcclSetting& setting, const NcclWay& way);  // 3.5

}  // namespace twinrun
