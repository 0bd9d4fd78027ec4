#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/nccl/graph.h"

namespace twinrun {

inline constexpr std::array<std::int64_t, 5> kReferenceSizes = {1 << 10, 1 << 16, 1 << 20, 1 << 24,
                                                                1 << 28};

struct ExpectedChoice {
  NcclAlgorithm algorithm;
  NcclProtocol protocol;
  double time_us;
  double digit;  // the last one shown
};

// A row of cuda-nccl-cpu 3.7. The NVLS graphs are not in its table: 3.2 gives eight heads, the
// candidate speeds allow 8 × 40 of 371 GB/s and 8 × 90 of 722 GB/s, and the rate towards the
// (absent) network is raised further while it is below twice that and in the list.
struct ReferenceMachine {
  std::string name;
  NcclSystem system;
  NcclSearchGraphs graphs;
  int compute_channels;
  std::array<ExpectedChoice, 5> expected;
};

NcclSearchGraph search_graph(int channels,
                             double intra,
                             double inter,
                             NcclPath intra_path,
                             NcclPath inter_path = NcclPath::kPix,
                             bool plain = false);
NcclSearchGraph nvlink_graph(int channels, double intra, double inter);
NcclSystem machines(int sm, int gpus, int nodes, NcclCpu cpu = NcclCpu::kIntel);
NcclSearchGraphs both(const NcclSearchGraph& ring, const NcclSearchGraph& tree);

const std::vector<ReferenceMachine>& nvlink_machines();
const std::vector<ReferenceMachine>& nvls_machines();
const std::vector<ReferenceMachine>& pcie_machines();
const std::vector<ReferenceMachine>& single_gpu_machines();
std::vector<ReferenceMachine> reference_machines();  // all of them

}  // namespace twinrun
