#pragma once

#include <memory>
#include <vector>

#include "exec/tcp/socket.h"
#include "exec/tcp/torchrun.h"
#include "exec/transport.h"

namespace twinrun::exec {

// By all processes together, which torchrun or its variables have told of each other. Who has not
// come within the timeout: NotAllCame. BackendMissing when it cannot be done.
std::unique_ptr<Transport> open_tcp(const TorchrunLaunch& launch, double timeout_s);

// Over connections that are there, by rank of the other; that of `rank` itself is not open.
std::unique_ptr<Transport> transport_over(int rank, std::vector<Socket> connections);

}  // namespace twinrun::exec
