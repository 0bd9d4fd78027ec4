#pragma once

#include <span>

#include "core/plan/plan.h"
#include "exec/execute.h"
#include "exec/mpi/device_homes.h"
#include "exec/mpi/part.h"

namespace twinrun::exec {

// One result of what the processes have, by rank. Times are put on the first process's clock; ops
// that start together start when the last of them was ready. CannotRun or BackendMissing when they
// refused. A part that is not whole is of a process that died, and that is a failure.
Execution merge_parts(const Plan& plan, const DeviceHomes& homes, std::span<const Part> parts);

}  // namespace twinrun::exec
