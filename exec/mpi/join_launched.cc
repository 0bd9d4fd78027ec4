#include "exec/mpi/join_launched.h"

#include "exec/mpi/mpi_transport.h"
#include "exec/tcp/tcp_transport.h"

namespace twinrun::exec {

std::unique_ptr<Transport> join_launched(const LaunchedRank& launched, double timeout_s) {
  return launched.by_tcp ? open_tcp(*launched.by_tcp, timeout_s) : open_mpi();
}

}  // namespace twinrun::exec
