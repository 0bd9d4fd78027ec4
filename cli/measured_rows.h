#pragma once

#include <string>
#include <vector>

#include "cli/compare_input.h"
#include "core/io/nccl_tests_output.h"
#include "core/io/nvbandwidth_output.h"
#include "core/plan/plan.h"
#include "core/topology/spec.h"
#include "core/topology/topology.h"

namespace twinrun::cli {

// A time that was measured, and the plan whose simulation should take as long.
struct MeasuredRow {
  std::string what;
  Plan plan;
  double seconds = 0;
};

// Ops of a run that do the same are one row with the median of their times: compute, copies,
// messages (from when both ends were ready) and collectives (all ranks). What says neither FLOPs
// nor bytes, as a profiler's kernels, or has its duration in the plan, has no row. The steps of the
// warm-up do not count.
std::vector<MeasuredRow> rows_of_run(const CompareInput& run);

// The ranks are the first so many devices of the topology.
std::vector<MeasuredRow> rows_of_nccl_tests(const NcclTestsOutput& output,
                                            const Topology& topology);

// gpu0, gpu1, … of the first machine; a host is the CPU that is nearest to the GPU.
std::vector<MeasuredRow> rows_of_nvbandwidth(const NvbandwidthOutput& output,
                                             const Topology& topology);

// The CPU that a copy from the GPU reaches soonest; CannotRun when there is none.
std::string nearest_cpu(const Topology& topology, const std::string& gpu);

// By row: what its plan takes on the topology, simulated; 0 where it cannot run there.
std::vector<double> predicted_s(const std::vector<MeasuredRow>& rows, const TopologySpec& spec);

}  // namespace twinrun::cli
