#include "exec/cuda/open_transport.h"

#include <optional>

#include "exec/mpi/join_launched.h"
#include "exec/mpi/mpi_transport.h"

namespace twinrun::exec {

std::unique_ptr<Transport> open_transport(double timeout_s) {
  const std::optional<LaunchedRank> launched = launched_rank();
  return launched ? join_launched(*launched, timeout_s) : open_mpi();
}

}  // namespace twinrun::exec
