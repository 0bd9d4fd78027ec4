#include "core/topology/fabric.h"

namespace twinrun {

//    spine0     spine1          uplinks of a leaf together = its downlinks / oversubscription
//     |   \     /   |
//    leaf0       leaf1          nodes_per_leaf machines each, with all their NICs
//    / | \       / | \ .
void generate_leaf_spine(const FabricInput& input) {
  const std::size_t per_leaf = machines_per_leaf(input, 16, 1);
  std::vector<Leaf> leaves;
  for (std::size_t machine = 0; machine < input.ports.size(); ++machine) {
    if (machine % per_leaf == 0) {
      leaves.push_back({input.builder.add_switch("leaf"), 0, 0});
    }
    Leaf& leaf = leaves.back();
    for (const Port& port : input.ports[machine]) {
      input.plug(port, leaf.vertex);
      ++leaf.ports;
      leaf.down_bytes_per_s += port.bandwidth.bytes_per_s;
    }
  }
  join_leaves_to_spines(input, leaves);
}

}  // namespace twinrun
