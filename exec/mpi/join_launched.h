#pragma once

#include <memory>

#include "exec/mpi/launcher.h"
#include "exec/transport.h"

namespace twinrun::exec {

// To the other processes that the launcher started: over TCP when it was torchrun, over MPI
// otherwise. BackendMissing when it cannot be done; NotAllCame when, of those that meet over TCP,
// somebody has not come within the timeout.
std::unique_ptr<Transport> join_launched(const LaunchedRank& launched, double timeout_s);

}  // namespace twinrun::exec
