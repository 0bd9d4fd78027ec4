#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/dtype.h"
#include "core/base/units.h"
#include "core/model/model.h"
#include "core/plan/op.h"
#include "core/plan/plan_builder.h"
#include "core/strategy/job.h"
#include "core/strategy/layer_traffic.h"

namespace twinrun {

// A collective among the ranks that share a layer.
struct TensorCollective {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Bytes bytes{};
};

// How a layer is divided among tensor-parallel ranks (Shoeybi et al., arXiv:1909.08053).
enum class TensorSplit : std::uint8_t {
  kWhole,    // every rank does all of it
  kColumns,  // the weight by its outputs: the output stays divided
  kRows,     // the weight by its inputs: the outputs are summed
  kWithin,   // works on what is divided already: attention heads, the activation between
  kTokens,   // sequence parallelism: what stands outside the pairs, by tokens
};

// What one rank does for one layer and one micro-batch, and what it keeps.
struct LayerWork {
  ComputeSpec forward;
  std::optional<ComputeSpec> backward_input;   // gradient of the input; none for the first layer
  std::optional<ComputeSpec> backward_weight;  // gradient of the weights; none without weights
  std::vector<std::int64_t> tensors;           // elements of each trained tensor on this rank
  std::int64_t buffers = 0;                    // elements kept but not trained
  Bytes saved{};                               // from forward to backward
  Bytes saved_scores{};                        // … of which selective recompute does without
  Bytes passing{};                             // written by backward while it runs
  std::optional<TensorCollective> before_forward;
  std::optional<TensorCollective> after_forward;
  std::optional<TensorCollective> before_backward;
  std::optional<TensorCollective> after_backward;
};

struct WorkOptions {
  std::int64_t samples = 1;  // of a micro-batch
  Dtype dtype = Dtype::kFp32;
  std::int64_t tensor = 1;
  bool sequence_parallel = false;
  Fusion fusion = {};
};

Fusion fusion_of(const Training& training);

// Mixed precision: activations, weights and gradients in 16 bits, a master copy in fp32.
bool is_mixed(Dtype dtype);

std::vector<TensorSplit> tensor_splits(const Model& model, bool sequence_parallel);

// By layer of the model. A layer with weights has a backward pass of two ops, each as long as the
// forward one: one product gives the gradient of its input, one that of its weights.
std::vector<LayerWork> layer_work(const Model& model, const WorkOptions& options);

std::int64_t parameters_of(const LayerWork& work);

}  // namespace twinrun
