#pragma once

#include <vector>

#include "exec/tcp/socket.h"
#include "exec/tcp/torchrun.h"

namespace twinrun::exec {

// By all processes together: a connection between each two of them, by rank of the other.
//
//   first    listens at the port that all were told of, and waits for a hello from each
//   others   connect to it, listen at a port of their own, and say which
//   first    when all are there: tells each where all listen
//   each     connects to those of lower rank, and takes in those of higher rank
//
// NotAllCame when somebody has not come within the timeout; BackendMissing when it cannot be done.
std::vector<Socket> join_processes(const TorchrunLaunch& launch, double timeout_s);

}  // namespace twinrun::exec
