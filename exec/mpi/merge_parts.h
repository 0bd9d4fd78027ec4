#pragma once

#include <optional>
#include <span>

#include "core/plan/plan.h"
#include "exec/execute.h"
#include "exec/mpi/device_homes.h"
#include "exec/mpi/part.h"

namespace twinrun::exec {

// One result of what the processes have, by rank. Times are put on the first process's clock; ops
// that start together start when the last of them was ready. CannotRun or BackendMissing when they
// refused. A part that is not whole is of a process that died, and that is a failure; `first_dead`
// says which one died first, where somebody knows.
Execution merge_parts(const Plan& plan,
                      const DeviceHomes& homes,
                      std::span<const Part> parts,
                      std::optional<int> first_dead = {});

}  // namespace twinrun::exec
