#include "exec/cuda/open_transport.h"

#include "exec/mpi/mpi_transport.h"

namespace twinrun::exec {

std::unique_ptr<Transport> open_transport() { return open_mpi(); }

}  // namespace twinrun::exec
