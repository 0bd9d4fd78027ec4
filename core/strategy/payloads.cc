#include "core/strategy/payloads.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/strategy/layer_work.h"

namespace twinrun {
namespace {

// A model does not tell one activation or loss from another; their names do.
std::optional<WorkKind> kind_of(const Layer& layer) {
  switch (layer.kind) {
    case LayerKind::kLinear:
      return layer.gemm && layer.gemm->m == 1 && layer.gemm->count == 1 && !layer.tied_to
                 ? std::optional(WorkKind::kLinear)
                 : std::nullopt;
    case LayerKind::kActivation:
      return layer.name.starts_with("relu")   ? std::optional(WorkKind::kRelu)
             : layer.name.starts_with("tanh") ? std::optional(WorkKind::kTanh)
                                              : std::nullopt;
    case LayerKind::kLoss:
      return layer.name.starts_with("mse") ? WorkKind::kMeanSquares
                                           : WorkKind::kSoftmaxCrossEntropy;
    case LayerKind::kConv:
    case LayerKind::kEmbedding:
    case LayerKind::kNorm:
    case LayerKind::kAttention:
    case LayerKind::kPool:
    case LayerKind::kDropout:
    case LayerKind::kAdd:
    case LayerKind::kConcat:
    case LayerKind::kOther:
      return std::nullopt;
  }
  return std::nullopt;
}

LayerDivision division_of(TensorSplit split) {
  switch (split) {
    case TensorSplit::kColumns:
      return LayerDivision::kColumns;
    case TensorSplit::kRows:
      return LayerDivision::kRows;
    case TensorSplit::kWithin:
      return LayerDivision::kWithin;
    case TensorSplit::kWhole:
    case TensorSplit::kTokens:
      return LayerDivision::kWhole;
  }
  return LayerDivision::kWhole;
}

WorkLayer work_layer(const Layer& layer, WorkKind kind, TensorSplit split) {
  WorkLayer out{layer.name, kind, division_of(split), layer.inputs, layer.outputs, false};
  if (kind == WorkKind::kLinear) {
    out.inputs = layer.gemm->k;
    out.outputs = layer.gemm->n;
    out.has_bias = layer.parameters.size() > 1;
  }
  return out;
}

bool divides_evenly(const WorkLayer& layer, std::int64_t ranks) {
  const bool inputs = layer.division == LayerDivision::kWhole ||
                      layer.division == LayerDivision::kColumns || layer.inputs % ranks == 0;
  const bool outputs = layer.division == LayerDivision::kWhole ||
                       layer.division == LayerDivision::kRows || layer.outputs % ranks == 0;
  return inputs && outputs;
}

bool is_short(Dtype dtype) {
  return dtype == Dtype::kTf32 || dtype == Dtype::kFp16 || dtype == Dtype::kBf16;
}

std::string why_not_trained(const Job& job, const Workload& workload, bool in_short_types) {
  const Dtype dtype = job.training.dtype;
  if (dtype != Dtype::kFp32 && !(in_short_types && is_short(dtype))) {
    return fmt::format(
        "training for real is in fp32 (on GPUs also in tf32, fp16, bf16), and the job's dtype is "
        "{}",
        name_of(dtype));
  }
  const auto is_loss = [](const WorkLayer& layer) {
    return layer.kind == WorkKind::kSoftmaxCrossEntropy || layer.kind == WorkKind::kMeanSquares;
  };
  const auto first = std::find_if(workload.layers.begin(), workload.layers.end(), is_loss);
  if (first == workload.layers.end() || first + 1 != workload.layers.end()) {
    return "the model does not end with its only loss";
  }
  for (const WorkLayer& layer : workload.layers) {
    if (!divides_evenly(layer, workload.tensor_ranks)) {
      return fmt::format("{} tensor-parallel ranks do not divide layer {} evenly",
                         workload.tensor_ranks, layer.name);
    }
  }
  return "";
}

}  // namespace

TrainedJob trained_job(const Job& job,
                       const Model& model,
                       const Layout& layout,
                       bool in_short_types) {
  TrainedJob out;
  Workload& workload = out.workload;
  workload.tensor_ranks = layout.tensor;
  workload.global_batch = layout.global_batch;
  workload.samples_per_update = layout.global_batch;
  workload.optimizer = kOptimizerWords[static_cast<std::size_t>(job.training.optimizer)];
  workload.learning_rate = job.training.learning_rate;
  const std::vector<TensorSplit> splits = tensor_splits(model, job.parallelism.sequence_parallel);
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const Layer& layer = model.layers[i];
    const std::optional<WorkKind> kind = kind_of(layer);
    if (!kind) {
      out.why_not =
          fmt::format("layer {} ({}) has no real kernel", layer.name, name_of(layer.kind));
      return out;
    }
    workload.layers.push_back(
        work_layer(layer, *kind, layout.tensor > 1 ? splits[i] : TensorSplit::kWhole));
  }
  out.why_not = why_not_trained(job, workload, in_short_types);
  return out;
}

Payloads::Payloads(Workload workload)
    : workload_(std::move(workload)), shares_(layer_shares(workload_)) {}

CountRange Payloads::layer(std::size_t layer) const {
  const LayerShare& share = shares_[layer];
  return {share.first_element, share.first_element + share.weight + share.bias};
}

CountRange Payloads::tensor(std::size_t layer, std::size_t tensor) const {
  const LayerShare& share = shares_[layer];
  const std::int64_t end_of_weight = share.first_element + share.weight;
  return tensor == 0 ? CountRange{share.first_element, end_of_weight}
                     : CountRange{end_of_weight, end_of_weight + share.bias};
}

bool Payloads::is_divided(std::size_t boundary) const {
  const LayerDivision before =
      boundary == 0 ? LayerDivision::kWhole : workload_.layers[boundary - 1].division;
  return before == LayerDivision::kColumns || before == LayerDivision::kWithin;
}

Payload Payloads::pass(const Piece& piece, const PassData& data, std::int64_t tensor) {
  Payload out;
  out.verb = piece.verb;
  out.source = piece.layer == 0 ? data.input : Store::kActivations;
  out.accumulates = piece.verb == Verb::kBackwardWeight && data.accumulates;
  out.layer = static_cast<std::uint32_t>(piece.layer);
  out.tensor_rank = static_cast<std::uint32_t>(tensor);
  out.version = data.version;
  out.versions = data.versions;
  out.samples = data.samples;
  return out;
}

Payload Payloads::rows(Store store, std::size_t boundary, CountRange samples) {
  Payload out;
  out.verb = Verb::kMove;
  out.source = store;
  out.target = store;
  out.layer = static_cast<std::uint32_t>(boundary);
  out.samples = samples;
  return out;
}

Payload Payloads::elements(
    Verb verb, Store source, Store target, std::int64_t tensor, std::vector<CountRange> ranges) {
  Payload out;
  out.verb = verb;
  out.source = source;
  out.target = target;
  out.tensor_rank = static_cast<std::uint32_t>(tensor);
  out.elements = std::move(ranges);
  return out;
}

Payload Payloads::elements(Store store, std::int64_t tensor, std::vector<CountRange> ranges) {
  return elements(Verb::kMove, store, store, tensor, std::move(ranges));
}

std::vector<CountRange> joined(std::vector<CountRange> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const CountRange& a, const CountRange& b) { return a.begin < b.begin; });
  std::vector<CountRange> out;
  for (const CountRange& range : ranges) {
    if (range.size() == 0) {
      continue;
    }
    if (!out.empty() && out.back().end == range.begin) {
      out.back().end = range.end;
    } else {
      out.push_back(range);
    }
  }
  return out;
}

}  // namespace twinrun
