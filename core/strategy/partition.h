#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/units.h"
#include "core/model/model.h"
#include "core/strategy/job.h"
#include "core/strategy/layer_work.h"
#include "core/strategy/layout.h"
#include "core/topology/topology.h"

namespace twinrun {

// Blocks [first, end) of the model; the chunk of part k · stages + stage.
struct ChunkRange {
  std::size_t first = 0;
  std::size_t end = 0;
  bool operator==(const ChunkRange&) const = default;
};

// Cuts blocks into consecutive parts so that the slowest part is as fast as can be. times[p][b] is
// what block b takes as a piece of part p: parts may be on unequal devices. There must be as many
// blocks as parts at least; no part is left empty.
std::vector<ChunkRange> cut_evenly(std::span<const std::vector<Time>> times);

// So many blocks each, in order; they must add up to the model's.
std::vector<ChunkRange> cut_as_told(std::span<const std::int64_t> balance);

// Megatron's rule (arXiv:2104.04473): every part has as many layers of the transformer as the
// others, the embeddings go with the first and the head with the last. Empty when the model is no
// transformer or its layers do not divide.
std::vector<ChunkRange> cut_equal_layers(const Model& model, std::int64_t parts);

// What a block takes forward and backward, with what is recomputed, on the device of rank 0 of a
// stage; by part of the layout and block.
std::vector<std::vector<Time>> block_times(const Job& job,
                                           const Model& model,
                                           const Topology& topology,
                                           const Layout& layout,
                                           std::span<const LayerWork> work);

// The parts of a job, stages × virtual_stages of them: its balance, else Megatron's rule where the
// strategy has it, else the even cut.
std::vector<ChunkRange> partition(const Job& job,
                                  const Model& model,
                                  const Topology& topology,
                                  const Layout& layout,
                                  std::span<const LayerWork> work,
                                  bool has_equal_layers);

}  // namespace twinrun
