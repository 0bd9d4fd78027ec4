#pragma once

#include <string>
#include <vector>

#include "core/topology/topology.h"

namespace twinrun {

// The machine of a row of cuda-nccl-cpu 3.7, by its name in reference_machines(): of the catalogue
// where it is there, else written here as the row describes it.
Topology reference_topology(const std::string& row);

// The first so many GPUs, or all.
std::vector<VertexId> gpus_of(const Topology& topology, std::size_t count = 1U << 30);

}  // namespace twinrun
