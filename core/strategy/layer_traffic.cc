#include "core/strategy/layer_traffic.h"

#include <numeric>

namespace twinrun {
namespace {

// A tensor that a layer adds to its products.
bool has_bias(const Layer& layer) {
  const std::int64_t elements =
      std::accumulate(layer.parameters.begin(), layer.parameters.end(), std::int64_t{0});
  return layer.gemm && elements > layer.gemm->k * layer.gemm->n;
}

// A product reads both factors and writes the result. A bias is added by one more pass over the
// outputs (two where the library does not start from it: convolutions), its gradient is their sum.
LayerTraffic product_traffic(const Layer& layer, const RankLayer& share, std::int64_t element) {
  const std::int64_t once = share.inputs + share.outputs + share.weights;
  const std::int64_t bias = has_bias(layer) ? share.outputs : 0;
  const std::int64_t passes = layer.kind == LayerKind::kConv ? 2 : 1;
  return {element * (once + passes * bias), element * once, element * (once + bias)};
}

// Batch norm reads its input for the statistics and again for the values; layer norm keeps a row on
// the chip. Backward both read values and gradients twice: for the sums, and for the result. (On a
// V100 batch norm moves 3.3 and 4.8 times its input at the speed of a copy:
// pipedream_layer_profiles, ResNet-18.)
LayerTraffic norm_traffic(const Layer& layer, const RankLayer& share, const Fusion& fusion) {
  const bool is_batch_norm = layer.buffers > 0;
  if (is_batch_norm && fusion.norms) {
    return {2 * share.inputs, 3 * share.inputs, 0};
  }
  return {(is_batch_norm ? 3 : 2) * share.inputs, 5 * share.inputs, 0};
}

// Two products, and between them kernels over the scores: scale, mask, softmax (a pass in and one
// out each), dropout. Backward four products, the gradient of softmax (three), scale, mask and
// dropout. Queries, keys, values and the result are copied into the order of heads and back.
LayerTraffic attention_traffic(const RankLayer& share, std::int64_t element, bool fused) {
  const std::int64_t copies = 8 * share.outputs * element;
  if (fused || !share.gemm) {
    const std::int64_t once = (share.inputs + share.outputs) * element;
    return {once, 2 * once, 0};
  }
  const Gemm& gemm = *share.gemm;
  const std::int64_t scores = gemm.m * gemm.n * gemm.count / 2 * share.samples;
  const std::int64_t products =
      element * gemm.count * share.samples * (gemm.m * gemm.k + gemm.k * gemm.n + gemm.m * gemm.n);
  const std::int64_t dropout = share.mask_bytes > 0 ? 2 * element * scores + share.mask_bytes : 0;
  return {products + 6 * element * scores + dropout + copies,
          2 * products + 7 * element * scores + dropout + copies, 0};
}

std::int64_t loss_element() { return 4; }  // computed in fp32

}  // namespace

LayerTraffic traffic_of(const Layer& layer,
                        const RankLayer& share,
                        Dtype dtype,
                        const Fusion& fusion) {
  const std::int64_t element = stored_bytes(dtype);
  const std::int64_t in = share.inputs;
  const std::int64_t out = share.outputs;
  LayerTraffic elements;
  switch (layer.kind) {
    case LayerKind::kConv:
    case LayerKind::kLinear:
      return product_traffic(layer, share, element);
    case LayerKind::kAttention:
      return attention_traffic(share, element, fusion.attention);
    case LayerKind::kLoss:  // largest value, sum of powers, result; backward once in and out
      return {3 * in * loss_element(), 2 * in * loss_element(), 0};
    case LayerKind::kDropout:
      return {element * (in + out) + share.mask_bytes, element * (in + out) + share.mask_bytes, 0};
    case LayerKind::kNorm:
      elements = norm_traffic(layer, share, fusion);
      break;
    case LayerKind::kActivation:  // backward also reads the output
      elements = {in + out, in + 2 * out, 0};
      break;
    case LayerKind::kPool:
      elements = {in + out, 2 * (in + out), 0};
      break;
    case LayerKind::kAdd:  // backward, the gradients of both ways are summed
      elements = {in + out, 3 * out, 0};
      break;
    case LayerKind::kEmbedding:
      elements = {2 * out, 0, 3 * out};
      break;
    case LayerKind::kConcat:
    case LayerKind::kOther:
      elements = {in + out, in + out, 0};
      break;
  }
  if (fusion.norms && layer.kind == LayerKind::kActivation) {
    elements = {};
  } else if (fusion.norms && layer.kind == LayerKind::kAdd) {
    elements = {out, out, 0};
  }
  return {element * elements.forward, element * elements.backward_input,
          element * elements.backward_weight};
}

}  // namespace twinrun
