#pragma once

#include <array>
#include <optional>

#include "core/base/units.h"
#include "core/nccl/graph.h"
#include "core/nccl/tuning_tables.h"
#include "core/plan/op.h"

namespace twinrun {

// What one way of doing a collective costs: latency_us + bytes / bandwidth, before the corrections
// for size. Not allowed: NCCL would never choose it here, and the figures are 0.
struct NcclCost {
  bool allowed = false;
  double latency_us = 0;
  double bandwidth_gbps = 0;  // GB/s of the collective's bytes, not of the links
};

struct NcclChoice {
  NcclAlgorithm algorithm = NcclAlgorithm::kRing;
  NcclProtocol protocol = NcclProtocol::kSimple;
  double time_us = 0;
  int channels = 0;  // thread blocks a GPU runs; 0 when there is nothing to send
  int threads = 0;   // of each
};

// NCCL's cost model and choice (cuda-nccl-cpu 3.3 to 3.6) for one set of ranks. "Bytes" is always
// the larger of a rank's send and receive buffer: an all-gather's bytes are what each rank ends
// with. All-to-all and barrier are no collectives of NCCL: nothing is allowed for them.
class NcclModel {
 public:
  NcclModel(const NcclSystem& system,
            const NcclSearchGraphs& graphs,
            const NcclTables& tables = default_nccl_tables());

  [[nodiscard]] const NcclCost& cost(CollectiveKind collective,
                                     NcclAlgorithm algorithm,
                                     NcclProtocol protocol) const;
  // Nothing when not allowed. pipelined: operations of one group that share the channels. Does not
  // fall with bytes, except for a tree's all-reduce, whose corrections step up at powers of two.
  [[nodiscard]] std::optional<double> time_us(CollectiveKind collective,
                                              NcclAlgorithm algorithm,
                                              NcclProtocol protocol,
                                              Bytes bytes,
                                              int pipelined = 1) const;
  // The cheapest allowed way, of one algorithm when that is named (NCCL_ALGO); nothing when there
  // is none. One rank or no bytes: no time.
  [[nodiscard]] std::optional<NcclChoice> choose(
      CollectiveKind collective,
      Bytes bytes,
      int pipelined = 1,
      std::optional<NcclAlgorithm> only = std::nullopt) const;

  [[nodiscard]] int compute_channels() const { return compute_channels_; }
  [[nodiscard]] const NcclSystem& system() const { return system_; }
  [[nodiscard]] const NcclSearchGraphs& graphs() const { return graphs_; }

 private:
  using PerProtocol = std::array<NcclCost, kNcclProtocolNames.size()>;
  using PerAlgorithm = std::array<PerProtocol, kNcclAlgorithmNames.size()>;

  void set_threads_and_channels(NcclChoice& choice, Bytes bytes) const;

  NcclSystem system_;
  NcclSearchGraphs graphs_;
  NcclTables tables_;
  int compute_channels_ = 0;
  std::array<PerAlgorithm, kCollectiveKindNames.size()> costs_{};
};

}  // namespace twinrun
