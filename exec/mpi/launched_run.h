#pragma once

#include "core/plan/plan.h"
#include "exec/execute.h"

namespace twinrun::exec {

// Starts mpirun with this program, watches over it, and merges what its processes leave. Whatever
// happens to them, nothing is left running and no file is left behind.
Execution launch_and_watch(const Plan& plan, const ExecuteOptions& options);

}  // namespace twinrun::exec
