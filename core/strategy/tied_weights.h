#pragma once

#include <span>
#include <vector>

#include "core/base/ids.h"
#include "core/model/model.h"
#include "core/strategy/gradient_sync.h"
#include "core/strategy/layer_work.h"
#include "core/strategy/partition.h"

namespace twinrun {

class StepBuilder;

// Layers that share a tensor, as GPT's head does with its table of embeddings. On one stage there
// is one tensor; on two each has a copy, and the gradients of both are summed before the update
// (the embedding group of Narayanan et al., arXiv:2104.04473).

// Gives a layer the tensor it shares as its own where the other is on another stage.
void copy_tied_weights(const Model& model,
                       std::span<const ChunkRange> parts,
                       std::int64_t stages,
                       std::vector<LayerWork>& work);

// The sums that the update of this rank waits for, each after all of `after`; each rank has one of
// `shares` equal parts of the gradients.
std::vector<OpId> sum_tied_gradients(StepBuilder& steps,
                                     const RankStep& at,
                                     std::int64_t shares,
                                     const std::vector<OpId>& after);

}  // namespace twinrun
