#pragma once

#include <memory>

#include "core/plan/plan.h"
#include "exec/execute.h"
#include "exec/mpi/part_run.h"
#include "exec/mpi/transport.h"

namespace twinrun::exec {

// Runs a plan with the other processes of a launcher, which has said that there are so many: the
// first has the result. BackendMissing when the transport knows of another number.
Execution run_joined(const Plan& plan,
                     const PartOptions& options,
                     std::shared_ptr<Transport> transport,
                     int launched);

// After a failure the processes can no longer be left in order: whoever started them ends them.
[[noreturn]] void wait_to_be_ended();

}  // namespace twinrun::exec
