#include "core/plan/workload.h"

namespace twinrun {

std::vector<LayerShare> layer_shares(const Workload& workload) {
  std::vector<LayerShare> out;
  std::int64_t next = 0;
  for (const WorkLayer& layer : workload.layers) {
    const bool divides_inputs =
        layer.division == LayerDivision::kRows || layer.division == LayerDivision::kWithin;
    const bool divides_outputs =
        layer.division == LayerDivision::kColumns || layer.division == LayerDivision::kWithin;
    LayerShare share;
    share.inputs = divides_inputs ? layer.inputs / workload.tensor_ranks : layer.inputs;
    share.outputs = divides_outputs ? layer.outputs / workload.tensor_ranks : layer.outputs;
    share.first_element = next;
    if (layer.kind == WorkKind::kLinear) {
      share.weight = share.inputs * share.outputs;
      share.bias = layer.has_bias ? share.outputs : 0;
    }
    next += share.weight + share.bias;
    out.push_back(share);
  }
  return out;
}

std::int64_t element_count(const Workload& workload) {
  std::int64_t sum = 0;
  for (const LayerShare& share : layer_shares(workload)) {
    sum += share.weight + share.bias;
  }
  return sum;
}

}  // namespace twinrun
