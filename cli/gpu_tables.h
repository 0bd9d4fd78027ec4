#pragma once

#include <string>

#include "cli/output.h"
#include "cli/run_input.h"
#include "core/trace/trace.h"
#include "exec/execute.h"

namespace twinrun::cli {

// Of --nccl-estimate: for each kind and size of collectives what NCCL predicts, what the simulator
// does, and what was measured.
void add_nccl_estimates(Output& output,
                        const Plan& plan,
                        const exec::Execution& run,
                        const Trace& simulated);

// Of --cupti: which kernels ran how often and how long; each single one as CSV.
void add_kernels(Output& output, const exec::Execution& run);
std::string kernels_as_csv(const RunInput& input, const exec::Execution& run);

}  // namespace twinrun::cli
