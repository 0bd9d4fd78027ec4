#pragma once

#include <memory>
#include <string>

#include "core/plan/plan.h"
#include "exec/cuda/cuda_part.h"
#include "exec/execute.h"

namespace twinrun::exec {

// Runs the plan on the GPUs of this process, or with the processes of a launcher on one GPU or more
// each: then the first has the result. BackendMissing when there are none.
Execution execute_on_cuda(const Plan& plan, const ExecuteOptions& options);

// A sentence when it cannot be done here; "" when it can.
std::string why_cuda_is_missing();
// Of this machine, as far as the process may see them; 0 when it cannot be done.
int gpu_count();

// In one process, with that setting.
Execution execute_on_gpus(const Plan& plan,
                          const ExecuteOptions& options,
                          const CudaSetting& setting);

// For run_part(): a process's part, with the GPUs that it sees.
MakePartMachine cuda_part_maker(std::shared_ptr<GpuRuntime> runtime, int local_rank);

}  // namespace twinrun::exec
