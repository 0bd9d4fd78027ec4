#include <algorithm>

#include "core/collective/algorithms.h"
#include "core/collective/ring.h"

// Hierarchical with trees: rings inside the machines, a double binary tree between them for each
// local rank's share.
//
//   machine 0      machine 1      machine 2
//    0 → 1          4 → 5          8 → 9       1. reduce-scatter in each machine
//    ↑   ↓          ↑   ↓          ↑   ↓       2. share g over the trees of ranks g, G + g, 2G + g,
//    … 3 ← 2          7 ← 6         11 ← 10      3. all-gather in each machine
//
// 2(G - 1) steps inside and 2 ceil(log2 M) between, where rings between machines need 2(M - 1): for
// many machines and small arrays.
//
// Source: Jeaugey, Massively scale your deep learning training with NCCL 2.4 (2019), for the idea.

namespace twinrun {

namespace {

std::uint32_t machines(const CollectiveSpec& spec) { return spec.ranks / spec.ranks_per_node; }

Ring inside(const CollectiveSpec& spec, std::uint32_t rank) {
  const std::uint32_t local = rank % spec.ranks_per_node;
  return {spec.ranks_per_node, local, rank - local, 1, whole_of(spec), spec.element_bytes};
}

// The all-reduce of one local rank's share over the machines, as a collective of its own.
CollectiveSpec between(const CollectiveSpec& spec, std::uint32_t local) {
  CollectiveSpec share = spec;
  share.ranks = machines(spec);
  share.bytes = chunk_size(spec, spec.ranks_per_node, local);
  return share;
}

// Ranks and places of that collective as those of the whole one.
void translate(const CollectiveSpec& spec, std::uint32_t local, StepTransfers& transfers) {
  const std::int64_t offset = chunk_of(spec, spec.ranks_per_node, local).begin;
  for (auto* const list : {&transfers.sends, &transfers.receives}) {
    for (Transfer& transfer : *list) {
      transfer.peer = transfer.peer * spec.ranks_per_node + local;
      transfer.from = {transfer.from.begin + offset, transfer.from.end + offset};
      transfer.into += offset;
    }
  }
}

std::uint32_t steps(const CollectiveSpec& spec) {
  return 2 * (spec.ranks_per_node - 1) + double_binary_tree().steps(between(spec, 0));
}

void transfers(const CollectiveSpec& spec,
               std::uint32_t rank,
               std::uint32_t step,
               StepTransfers& out) {
  const std::uint32_t local = rank % spec.ranks_per_node;
  const std::uint32_t within = spec.ranks_per_node - 1;
  const std::uint32_t outside = double_binary_tree().steps(between(spec, 0));
  if (step < within) {
    ring_reduce_scatter(inside(spec, rank), step, out);
  } else if (step < within + outside) {
    double_binary_tree().transfers(between(spec, local), rank / spec.ranks_per_node, step - within,
                                   out);
    translate(spec, local, out);
  } else {
    ring_all_gather(inside(spec, rank), step - within - outside, out);
  }
}

// All chunks but its own and the next one's, then its share over the trees.
std::int64_t bytes_sent(const CollectiveSpec& spec) {
  const std::uint32_t ranks = spec.ranks_per_node;
  std::int64_t most = 0;
  for (std::uint32_t local = 0; local < ranks; ++local) {
    const std::int64_t left_out =
        chunk_size(spec, ranks, local) + chunk_size(spec, ranks, (local + 1) % ranks);
    const std::int64_t within = ranks == 1 ? 0 : 2 * spec.bytes - left_out;
    most = std::max(most, within + double_binary_tree().bytes_sent(between(spec, local)));
  }
  return most;
}

}  // namespace

CollectiveFunctions hierarchical_tree() { return {nullptr, steps, bytes_sent, transfers}; }

}  // namespace twinrun
