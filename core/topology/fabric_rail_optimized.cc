#include <algorithm>

#include <fmt/format.h>

#include "core/topology/fabric.h"

namespace twinrun {

//   rail 0: rail0-leaf0 rail0-leaf1 …      NIC 0 of machines 0…31, 32…63, …
//   rail 1: rail1-leaf0 rail1-leaf1 …      NIC 1 of the same machines
//   all leaves of all rails on the same spines; "spines": 0 leaves the rails apart
void generate_rail_optimized(const FabricInput& input) {
  std::size_t rails = 0;
  for (const std::vector<Port>& machine : input.ports) {
    rails = std::max(rails, machine.size());
  }
  const std::size_t per_leaf = machines_per_leaf(input, 32, rails);
  std::vector<Leaf> leaves;
  for (std::size_t rail = 0; rail < rails; ++rail) {
    for (std::size_t machine = 0; machine < input.ports.size(); ++machine) {
      if (machine % per_leaf == 0) {
        leaves.push_back({input.builder.add_switch(fmt::format("rail{}-leaf", rail)), 0, 0});
      }
      if (rail < input.ports[machine].size()) {
        const Port& port = input.ports[machine][rail];
        input.plug(port, leaves.back().vertex);
        ++leaves.back().ports;
        leaves.back().down_bytes_per_s += port.bandwidth.bytes_per_s;
      }
    }
  }
  join_leaves_to_spines(input, leaves);
}

}  // namespace twinrun
