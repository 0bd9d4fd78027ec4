#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/base/ids.h"
#include "core/nccl/channel_packing.h"
#include "core/nccl/graph.h"
#include "core/topology/topology.h"

namespace twinrun {

// What the search found in one shape of machine with these GPUs: computed once, however many
// machines share it.
struct NcclMachineChannels {
  NcclMachine machine;
  std::vector<NcclChannel> rings;
  std::vector<NcclChannel> trees;  // a chain through the machine each, in the ring's order
  NcclSearchGraphs graphs;
  NcclSearchGraphs filled;
};

// A machine that takes part: its ranks in the order of NcclMachine, and what was found for it.
struct NcclMember {
  NodeId node{};
  std::vector<VertexId> gpus;
  std::size_t channels = 0;  // index into NcclSearch::machines
};

struct NcclSearch {
  NcclSystem system;
  NcclSearchGraphs graphs;  // the least over all machines (3.2)
  // The same channels inside one machine as fast as their links allow, where NCCL counts only with
  // the speeds of its list: 30.9 GB/s instead of 30 for each of twelve over 371.
  NcclSearchGraphs filled;
  std::vector<NcclMachineChannels> machines;
  std::vector<NcclMember> members;  // in the order of their first rank
};

// Why NCCL could not run there, as a sentence.
struct NcclRefusal {
  std::string why;
};

// Rings, trees and NVLS heads for any GPUs of any machines (cuda-nccl-cpu 3.1, 3.2).
[[nodiscard]] std::variant<NcclSearch, NcclRefusal> search_channels(
    const Topology& topology, std::span<const VertexId> ranks);

}  // namespace twinrun
