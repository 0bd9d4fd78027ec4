#include "core/model/model.h"

#include <numeric>

namespace twinrun {

std::int64_t parameters_of(const Layer& layer) {
  return std::accumulate(layer.parameters.begin(), layer.parameters.end(), std::int64_t{0});
}

LayerTotals totals_of(std::span<const Layer> layers) {
  LayerTotals sum;
  for (const Layer& layer : layers) {
    const bool is_product = layer.kind == LayerKind::kConv || layer.kind == LayerKind::kLinear;
    sum.parameters += parameters_of(layer);
    sum.tensors += static_cast<std::int64_t>(layer.parameters.size());
    sum.buffers += layer.buffers;
    sum.forward_flops += layer.forward_flops;
    sum.outputs += layer.outputs;
    sum.product_outputs += is_product ? layer.outputs : 0;
    sum.saved += layer.saved;
    sum.saved_mask_bytes += layer.saved_mask_bytes;
  }
  return sum;
}

std::span<const Layer> layers_of(const Model& model, const Block& block) {
  return std::span<const Layer>(model.layers).subspan(block.first_layer, block.layer_count);
}

std::vector<std::int64_t> tensors_of(const Model& model) {
  std::vector<std::int64_t> tensors;
  for (const Layer& layer : model.layers) {
    tensors.insert(tensors.end(), layer.parameters.begin(), layer.parameters.end());
  }
  return tensors;
}

}  // namespace twinrun
