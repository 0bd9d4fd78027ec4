#pragma once

#include <optional>

#include "core/base/units.h"
#include "core/nccl/search.h"
#include "core/nccl/tuning.h"

namespace twinrun {

// How a program drives its GPUs. One process for several launches their kernels one after another,
// and a collective waits for the last.
struct NcclLaunch {
  int gpus_per_process = 1;
  // Host side of one launch: 2 to 5 us (cuda-nccl-cpu 3.8). nccl_all_ops_8xa100_superbench, one
  // process for eight GPUs, takes 20 us longer than the model for an operation of no bytes.
  double launch_us = 3;
};

// What the links deliver, which is not what NCCL reckons with: channels that fill their links, and
// those of NVLink at the rate that rings reach on it, those through host memory at what a thread
// block can move there. Only rings and trees of one machine whose every hop
// is NVLink of its own: a hop through another GPU (NVB) stays
// at NCCL's figure. A ring that sends one way only (broadcast, reduce) is not held up by host
// memory: the two 2080 Ti of nccl_2x2080ti_pcie_no_p2p broadcast at 11 GB/s, and all-reduce at 4 in
// each direction. One factor for both does not fit: five GPUs of a DGX-1 (one relayed) reach 37
// GB/s and six (none) 46, where NCCL counts 40 for each. That forwarding costs the relaying GPU is
// the likely reason; nobody here has measured it alone.
[[nodiscard]] NcclSearchGraphs delivered(const NcclSearch& search, bool one_way = false);

// Time until a pipeline of stages is full, beyond latency and bytes / bandwidth. 0 for rings whose
// links all work from the first step (all but broadcast and reduce), and for LL and LL128, which
// hand on each line as it comes.
[[nodiscard]] double pipeline_fill_us(const NcclModel& model,
                                      CollectiveKind collective,
                                      NcclAlgorithm algorithm,
                                      NcclProtocol protocol,
                                      Bytes bytes);

// Time spent waiting for the wires between machines, beyond latency and bytes / bandwidth: half of
// nothing in one room, seconds between cities. A ring of n machines passes chunks in step: each of
// its steps takes a chunk's transfer, or the wire's latency and a slice's transfer if that is
// longer, and more data than fits the buffers goes round again (3.6: chunks of four buffer steps,
// two slices each). Chains and trees hand on slices without waiting, so they wait once for each
// wire.
[[nodiscard]] double wire_wait_us(const NcclModel& model,
                                  CollectiveKind collective,
                                  NcclAlgorithm algorithm,
                                  NcclProtocol protocol,
                                  Bytes bytes);

// What a collective takes: chosen by NCCL's own estimate, as NCCL does, and timed by what the links
// deliver, with the time to fill pipelines and to launch.
class NcclPrediction {
 public:
  explicit NcclPrediction(const NcclSearch& search,
                          const NcclTables& tables = default_nccl_tables(),
                          const NcclLaunch& launch = {});

  [[nodiscard]] const NcclModel& own_estimate() const { return own_; }
  // As NcclModel::choose, but with the time that is to be expected.
  [[nodiscard]] std::optional<NcclChoice> predict(
      CollectiveKind collective,
      Bytes bytes,
      int pipelined = 1,
      std::optional<NcclAlgorithm> only = std::nullopt) const;

 private:
  NcclModel own_;
  NcclModel real_;
  NcclModel real_one_way_;  // broadcast and reduce
  double launches_us_ = 0;
};

}  // namespace twinrun
