#include "core/strategy/layer_work.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace twinrun {
namespace {

std::int64_t divided(std::int64_t count, std::int64_t parts) { return (count + parts - 1) / parts; }

std::uint32_t dimension(std::int64_t size) {
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(size, 1, std::numeric_limits<std::uint32_t>::max()));
}

// One layer's share of one rank, in elements.
struct Share {
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  std::int64_t flops = 0;
  std::int64_t saved = 0;
  std::int64_t mask_bytes = 0;
  std::int64_t weights = 0;
  std::optional<Gemm> gemm;
  std::vector<std::int64_t> tensors;
};

bool splits_weight(TensorSplit split) {
  return split == TensorSplit::kColumns || split == TensorSplit::kRows;
}

// The bias of a row-split layer is added once, after the sum: every rank has all of it. Of
// embeddings the table of words is split, not those of positions and segments.
std::vector<std::int64_t> split_tensors(const Layer& layer, TensorSplit split, std::int64_t parts) {
  std::vector<std::int64_t> tensors = layer.parameters;
  if (!splits_weight(split)) {
    return tensors;
  }
  const bool is_row = split == TensorSplit::kRows && layer.kind == LayerKind::kLinear;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const bool is_bias = i > 0 && layer.gemm && tensors[i] == layer.gemm->n;
    const bool is_whole = (is_row && is_bias) || (i > 0 && layer.kind == LayerKind::kEmbedding);
    tensors[i] = is_whole ? tensors[i] : divided(tensors[i], parts);
  }
  return tensors;
}

Share share_of(const Layer& layer, TensorSplit split, std::int64_t parts) {
  Share share{layer.inputs,
              layer.outputs,
              layer.forward_flops,
              layer.saved,
              layer.saved_mask_bytes,
              0,
              layer.gemm,
              {}};
  share.tensors = split_tensors(layer, split, parts);
  share.weights = std::accumulate(share.tensors.begin(), share.tensors.end(), std::int64_t{0});
  if (split == TensorSplit::kWhole || parts == 1) {
    return share;
  }
  const bool splits_inputs = split != TensorSplit::kColumns;
  const bool splits_outputs = split != TensorSplit::kRows;
  share.flops = divided(layer.forward_flops, parts);
  share.inputs = splits_inputs ? divided(layer.inputs, parts) : layer.inputs;
  share.outputs = splits_outputs ? divided(layer.outputs, parts) : layer.outputs;
  share.saved = splits_outputs ? divided(layer.saved, parts) : layer.saved;
  share.mask_bytes =
      splits_outputs ? divided(layer.saved_mask_bytes, parts) : layer.saved_mask_bytes;
  if (share.gemm && split == TensorSplit::kColumns) {
    share.gemm->n = divided(share.gemm->n, parts);
  } else if (share.gemm && split == TensorSplit::kRows) {
    share.gemm->k = divided(share.gemm->k, parts);
  } else if (share.gemm && split == TensorSplit::kWithin) {
    share.gemm->count = divided(share.gemm->count, parts);
  }
  return share;
}

// The product that a pass of a layer is. Backward, the gradient of the input is (gradient of the
// output) · (weights transposed), that of the weights (input transposed) · (gradient of the
// output).
Kernel kernel_of(const Layer& layer, const RankLayer& share, KernelKind kind, GradientOf gradient) {
  Kernel kernel{kind, 0, 0, 0, layer.name, {}};
  kernel.gradient = gradient;
  if (!share.gemm) {
    return kernel;
  }
  const Gemm& gemm = *share.gemm;
  const std::int64_t rows = gemm.count > 1 ? gemm.m : gemm.m * share.samples;
  const bool is_conv = layer.kind == LayerKind::kConv;
  const std::int64_t channels = gemm.k / gemm.taps;
  // Positions of the input for each of the output.
  const std::int64_t area =
      is_conv ? std::max<std::int64_t>(1, share.inputs / share.samples / channels / gemm.m) : 1;
  kernel.taps = is_conv ? dimension(gemm.taps) : 0;
  kernel.stride = dimension(std::llround(std::sqrt(static_cast<double>(area))));
  const auto set = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    kernel.m = dimension(m);
    kernel.n = dimension(n);
    kernel.k = dimension(k);
  };
  if (gradient == GradientOf::kInput) {
    set(rows * area, channels, gemm.n * gemm.taps / area);
  } else if (gradient == GradientOf::kWeight) {
    set(gemm.n, gemm.k, rows);
  } else {
    set(rows, gemm.n, gemm.k);
  }
  return kernel;
}

void set_compute(LayerWork& work,
                 const Layer& layer,
                 const Share& share,
                 const WorkOptions& options) {
  const RankLayer rank{share.inputs * options.samples,
                       share.outputs * options.samples,
                       share.weights,
                       share.mask_bytes * options.samples,
                       options.samples,
                       share.gemm};
  const LayerTraffic bytes = traffic_of(layer, rank, options.dtype, options.fusion);
  const auto flops = static_cast<double>(share.flops) * static_cast<double>(options.samples);
  const auto spec = [&](double work_flops, std::int64_t moved, KernelKind kind, GradientOf of) {
    return ComputeSpec{work_flops, {moved}, options.dtype, kernel_of(layer, rank, kind, of)};
  };
  work.forward = spec(flops, bytes.forward, KernelKind::kForward, GradientOf::kAll);
  const bool has_product = layer.kind == LayerKind::kConv || layer.kind == LayerKind::kLinear;
  if (has_product) {
    work.backward_input =
        spec(flops, bytes.backward_input, KernelKind::kBackward, GradientOf::kInput);
    work.backward_weight =
        spec(flops, bytes.backward_weight, KernelKind::kBackward, GradientOf::kWeight);
  } else if (layer.kind == LayerKind::kEmbedding) {
    work.backward_weight = spec(0, bytes.backward_weight, KernelKind::kBackward, GradientOf::kAll);
  } else {
    // Attention's scores have two products forward and four backward.
    work.backward_input =
        spec(2 * flops, bytes.backward_input, KernelKind::kBackward, GradientOf::kAll);
  }
}

// Ends of a pair: the output of a row-split layer is summed over the ranks, and backward the
// gradient of a column-split layer's input. With sequence parallelism the sum leaves each rank its
// tokens only, and they are gathered before the next pair.
void set_collectives(LayerWork& work,
                     const Layer& layer,
                     TensorSplit split,
                     const WorkOptions& options) {
  const std::int64_t element = stored_bytes(options.dtype);
  const Bytes outputs{layer.outputs * options.samples * element};
  const Bytes inputs{layer.inputs * options.samples * element};
  const bool tokens = options.sequence_parallel;
  if (split == TensorSplit::kRows) {
    work.after_forward = {tokens ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce,
                          outputs};
    if (tokens) {
      work.before_backward = {CollectiveKind::kAllGather, outputs};
    }
  } else if (split == TensorSplit::kColumns && layer.kind == LayerKind::kLinear) {
    work.after_backward = {tokens ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce,
                           inputs};
    if (tokens) {
      work.before_forward = {CollectiveKind::kAllGather, inputs};
    }
  }
}

// Two dense layers after each other make a pair when only layers without weights stand between.
void split_dense_pairs(const Model& model, std::vector<TensorSplit>& splits) {
  std::optional<std::size_t> open;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const LayerKind kind = model.layers[i].kind;
    if (kind == LayerKind::kLinear && !open) {
      open = i;
    } else if (kind == LayerKind::kLinear) {
      splits[*open] = TensorSplit::kColumns;
      splits[i] = TensorSplit::kRows;
      std::fill(splits.begin() + static_cast<std::ptrdiff_t>(*open) + 1,
                splits.begin() + static_cast<std::ptrdiff_t>(i), TensorSplit::kWithin);
      open.reset();
    } else if (kind != LayerKind::kActivation && kind != LayerKind::kDropout) {
      open.reset();
    }
  }
}

void split_transformer(const Model& model,
                       bool sequence_parallel,
                       std::vector<TensorSplit>& splits) {
  bool inside = false;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const Layer& layer = model.layers[i];
    const bool is_last_of_pair = layer.name.ends_with(".out") || layer.name.ends_with(".down");
    if (layer.kind == LayerKind::kEmbedding) {
      splits[i] = TensorSplit::kRows;  // rows of the table: each rank knows part of the words
    } else if (layer.kind == LayerKind::kLinear && layer.name != "pooler") {
      splits[i] = is_last_of_pair ? TensorSplit::kRows : TensorSplit::kColumns;
      inside = !is_last_of_pair;
    } else if (inside || layer.kind == LayerKind::kLoss) {
      splits[i] = TensorSplit::kWithin;
    } else if (sequence_parallel) {
      splits[i] = TensorSplit::kTokens;
    }
  }
}

// Fused attention keeps no scores, and skips those that a causal mask hides.
void fuse_attention(Share& share, bool is_causal) {
  share.saved = std::min(share.saved, share.outputs);
  share.mask_bytes = 0;
  share.flops = is_causal ? divided(share.flops, 2) : share.flops;
}

LayerWork work_of(const Layer& layer,
                  TensorSplit split,
                  const WorkOptions& options,
                  bool is_causal) {
  LayerWork work;
  Share share = share_of(layer, split, options.tensor);
  if (layer.kind == LayerKind::kAttention && options.fusion.attention) {
    fuse_attention(share, is_causal);
  }
  if (split == TensorSplit::kRows && options.sequence_parallel) {
    share.saved = divided(share.saved, options.tensor);  // the sum leaves each rank its tokens
  }
  const std::int64_t element = stored_bytes(options.dtype);
  set_compute(work, layer, share, options);
  work.tensors = share.tensors;
  work.buffers = layer.buffers;
  work.saved = {options.samples * (share.saved * element + share.mask_bytes)};
  if (layer.kind == LayerKind::kAttention) {
    const std::int64_t scores = std::max<std::int64_t>(share.saved - share.outputs, 0);
    work.saved_scores = {options.samples * (scores * element + share.mask_bytes)};
  }
  work.passing = {options.samples * element * (share.inputs + share.outputs)};
  if (options.tensor > 1) {
    set_collectives(work, layer, split, options);
  }
  return work;
}

}  // namespace

Fusion fusion_of(const Training& training) {
  return {training.fused_norms, training.flash_attention};
}

bool is_mixed(Dtype dtype) { return stored_bytes(dtype) < 4; }

std::int64_t parameters_of(const LayerWork& work) {
  return std::accumulate(work.tensors.begin(), work.tensors.end(), std::int64_t{0});
}

std::vector<TensorSplit> tensor_splits(const Model& model, bool sequence_parallel) {
  std::vector<TensorSplit> splits(model.layers.size(), TensorSplit::kWhole);
  if (model.transformer) {
    split_transformer(model, sequence_parallel, splits);
  } else {
    split_dense_pairs(model, splits);
  }
  return splits;
}

std::vector<LayerWork> layer_work(const Model& model, const WorkOptions& options) {
  const std::vector<TensorSplit> splits = tensor_splits(model, options.sequence_parallel);
  const bool is_causal = model.transformer && model.transformer->causal;
  std::vector<LayerWork> out;
  out.reserve(model.layers.size());
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    out.push_back(work_of(model.layers[i], splits[i], options, is_causal));
  }
  if (!out.empty()) {
    out.front().backward_input.reset();
  }
  return out;
}

}  // namespace twinrun
