#pragma once

#include "core/plan/plan.h"
#include "exec/execute.h"

namespace twinrun::exec {

// Trains for real when the plan says what its ops work on, else does as much work. CannotRun when
// only some of its ops say so.
Execution execute_on_cpu(const Plan& plan, const ExecuteOptions& options);

}  // namespace twinrun::exec
