#pragma once

#include <optional>
#include <vector>

#include "core/base/diagnostics.h"
#include "core/base/ids.h"
#include "core/strategy/job.h"
#include "core/strategy/layout.h"
#include "core/topology/topology.h"

namespace twinrun {

// Where parameter servers run.
struct ServerSites {
  std::vector<VertexId> servers;  // by server; several may share a place
  // By rank: where the gradients of its machine are summed before they go to the servers; empty
  // when each rank talks to the servers itself.
  std::vector<VertexId> machine_sums;
};

// The devices that may be ranks beside the servers: not those of machines with the role "server",
// and not those of the last machines when dedicated hosts are wanted and none has that role.
std::vector<VertexId> worker_candidates(const Job& job, const Topology& topology);

// gpu0   the first rank's device; more servers on those of the next ranks
// cpu    the first CPU of the first rank's machine; more on the CPUs of the other machines with
//        ranks, then on the second sockets
// hosts  the CPUs of machines with the role "server"; else, colocated, of the machines with ranks,
//        one each; else of the last machines without ranks
// Complains when there is no such place, naming what would do.
std::optional<ServerSites> server_sites(const Job& job,
                                        const Topology& topology,
                                        const Layout& layout,
                                        Diagnostics& diagnostics);

// Adds to the sites where each machine sums its gradients: on its CPU, or on the device of its
// first rank when the servers are on GPUs.
void sum_in_machines(const Job& job,
                     const Topology& topology,
                     const Layout& layout,
                     ServerSites& sites);

}  // namespace twinrun
