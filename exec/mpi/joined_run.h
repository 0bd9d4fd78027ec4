#pragma once

#include <functional>
#include <memory>

#include "core/plan/plan.h"
#include "exec/execute.h"
#include "exec/mpi/part_run.h"
#include "exec/transport.h"

namespace twinrun::exec {

// Runs a plan with the other processes of a launcher, which has said that there are so many: the
// first has the result. BackendMissing when the transport knows of another number;
// std::runtime_error, in the others, when the first died and nobody else can tell.
Execution run_joined(const Plan& plan,
                     const PartOptions& options,
                     std::shared_ptr<Transport> transport,
                     int launched);

// After a failure the processes can no longer be left in order: whoever started them ends them, or
// they see that it is over.
[[noreturn]] void wait_to_be_ended(const std::function<bool()>& is_over = {});

}  // namespace twinrun::exec
