#pragma once

#include <memory>

#include "exec/mpi/transport.h"

namespace twinrun::exec {

// To the processes that the same launcher started: MPI's, under mpirun or srun. BackendMissing when
// it cannot be opened.
std::unique_ptr<Transport> open_transport();

}  // namespace twinrun::exec
