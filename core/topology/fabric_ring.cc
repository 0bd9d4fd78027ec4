#include <algorithm>

#include "core/topology/fabric.h"

namespace twinrun {

//   node0 — node1 — node2 — … — node0       one such ring for each NIC number
void generate_ring(const FabricInput& input) {
  const std::size_t machines = input.ports.size();
  for (std::size_t i = 0; i < machines; ++i) {
    const std::size_t next = (i + 1) % machines;
    if (next == i || (machines == 2 && i == 1)) {
      continue;  // one machine has no neighbour; two have one wire, not two
    }
    const std::size_t rings = std::min(input.ports[i].size(), input.ports[next].size());
    for (std::size_t ring = 0; ring < rings; ++ring) {
      input.join_ports(input.ports[i][ring], input.ports[next][ring]);
    }
  }
}

}  // namespace twinrun
