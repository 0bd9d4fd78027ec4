#include "core/topology/fabric.h"

namespace twinrun {

//        switch0
//      /  |  |  \          every message: up one wire, down another
//   nic0 nic0 nic0 nic0
void generate_single_switch(const FabricInput& input) {
  const VertexId hub = input.builder.add_switch("switch");
  for (const std::vector<Port>& machine : input.ports) {
    for (const Port& port : machine) {
      input.plug(port, hub);
    }
  }
}

}  // namespace twinrun
