#pragma once

#include "core/plan/plan.h"
#include "exec/execute.h"

namespace twinrun::exec {

// Processes that exchange messages: those that a launcher (mpirun, srun) has started, or, without
// one, as many as are asked for, started here. BackendMissing without MPI.
Execution execute_on_mpi(const Plan& plan, const ExecuteOptions& options);

// A sentence when it cannot be done here; "" when it can.
std::string why_mpi_is_missing();

}  // namespace twinrun::exec
