#pragma once

#include <memory>

#include "exec/transport.h"

namespace twinrun::exec {

// To the processes that the same launcher started: MPI's, under mpirun or srun, or over TCP under
// torchrun. BackendMissing when it cannot be opened, NotAllCame when somebody is not there in time.
std::unique_ptr<Transport> open_transport(double timeout_s = 60);

}  // namespace twinrun::exec
