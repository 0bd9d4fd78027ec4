#include "core/strategy/layer_work.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace twinrun {
namespace {

// Times each element is read or written, forward and backward, beyond a layer's inputs and outputs:
// a norm reads its input twice (statistics, then values), backward reads input and gradient for the
// sums and once more for the result.
struct Passes {
  std::int64_t input_forward = 1;
  std::int64_t output_forward = 1;
  std::int64_t input_backward = 1;   // the gradient written
  std::int64_t output_backward = 1;  // the gradient read
  std::int64_t saved_backward = 1;   // values of forward read again, in units of the output
};

Passes passes_of(LayerKind kind) {
  switch (kind) {
    case LayerKind::kNorm:
      return {2, 1, 1, 2, 2};
    case LayerKind::kActivation:
    case LayerKind::kPool:
    case LayerKind::kDropout:
    case LayerKind::kLoss:
    case LayerKind::kAttention:
      return {1, 1, 1, 1, 1};
    case LayerKind::kAdd:
    case LayerKind::kConcat:
    case LayerKind::kConv:
    case LayerKind::kLinear:
    case LayerKind::kEmbedding:
    case LayerKind::kOther:
      return {1, 1, 1, 1, 0};
  }
  return {};
}

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

ComputeSpec spec_of(double flops, std::int64_t bytes, Dtype dtype, std::optional<Kernel> kernel) {
  return {flops, {bytes}, dtype, std::move(kernel)};
}

// A product with a shape of its own; convolutions are timed by their FLOPs and bytes alone.
std::optional<Kernel> kernel_of(const Layer& layer,
                                const std::optional<Gemm>& gemm,
                                std::int64_t samples,
                                KernelKind kind) {
  Kernel kernel{kind, 0, 0, 0, layer.name, {}};
  if (gemm && layer.kind != LayerKind::kConv) {
    const bool is_batched = gemm->count > 1;
    kernel.m = dimension(is_batched ? gemm->m : gemm->m * samples);
    kernel.n = dimension(gemm->n);
    kernel.k = dimension(gemm->k);
  }
  return kernel;
}

void set_compute(LayerWork& work,
                 const Layer& layer,
                 const Share& share,
                 const WorkOptions& options) {
  const std::int64_t element = stored_bytes(options.dtype);
  const Passes passes = passes_of(layer.kind);
  const std::int64_t in = share.inputs * options.samples;
  const std::int64_t out = share.outputs * options.samples;
  const auto flops = static_cast<double>(share.flops) * static_cast<double>(options.samples);
  const bool is_table = layer.kind == LayerKind::kEmbedding;
  const std::int64_t read_weights = is_table ? out : share.weights;
  // Scores go through memory between products, softmax and dropout: three times each kept element
  // forward, four times backward.
  const std::int64_t scores =
      layer.kind == LayerKind::kAttention ? (share.saved - share.outputs) * options.samples : 0;
  const std::int64_t forward_bytes =
      element *
      (passes.input_forward * in + passes.output_forward * out + read_weights + 3 * scores);
  work.forward = spec_of(flops, forward_bytes, options.dtype,
                         kernel_of(layer, share.gemm, options.samples, KernelKind::kForward));
  const std::int64_t backward_bytes =
      element * (passes.input_backward * in +
                 (passes.output_backward + passes.saved_backward) * out + 4 * scores);
  const auto backward = kernel_of(layer, share.gemm, options.samples, KernelKind::kBackward);
  const bool has_product = layer.kind == LayerKind::kConv || layer.kind == LayerKind::kLinear;
  if (has_product) {
    work.backward_input =
        spec_of(flops, element * (in + out + share.weights), options.dtype, backward);
    work.backward_weight = work.backward_input;
  } else if (is_table) {
    work.backward_weight = spec_of(0, element * 3 * out, options.dtype, backward);
  } else {
    // Attention's scores have two products forward and four backward.
    work.backward_input = spec_of(2 * flops, backward_bytes, options.dtype, backward);
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

LayerWork work_of(const Layer& layer, TensorSplit split, const WorkOptions& options) {
  LayerWork work;
  Share share = share_of(layer, split, options.tensor);
  if (split == TensorSplit::kRows && options.sequence_parallel) {
    share.saved = divided(share.saved, options.tensor);  // the sum leaves each rank its tokens
  }
  const std::int64_t element = stored_bytes(options.dtype);
  set_compute(work, layer, share, options);
  work.tensors = share.tensors;
  work.buffers = layer.buffers;
  work.saved = {options.samples * (share.saved * element + share.mask_bytes)};
  if (layer.kind == LayerKind::kAttention) {
    work.saved_scores = {options.samples *
                         ((share.saved - share.outputs) * element + share.mask_bytes)};
  }
  work.passing = {options.samples * element * (share.inputs + share.outputs)};
  if (options.tensor > 1) {
    set_collectives(work, layer, split, options);
  }
  return work;
}

}  // namespace

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
  std::vector<LayerWork> out;
  out.reserve(model.layers.size());
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    out.push_back(work_of(model.layers[i], splits[i], options));
  }
  if (!out.empty()) {
    out.front().backward_input.reset();
  }
  return out;
}

}  // namespace twinrun
