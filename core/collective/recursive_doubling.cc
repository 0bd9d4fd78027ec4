#include <bit>

#include "core/collective/algorithms.h"
#include "core/collective/fold.h"

// Recursive doubling: partners at distance 1, 2, 4, … exchange all they have.
//
//   all-reduce, P = 4                         broadcast and reduce, root 0: a binomial tree
//     step 0   0 ⇄ 1   2 ⇄ 3                    step 0   0 → 4
//     step 1   0 ⇄ 2   1 ⇄ 3                    step 1   0 → 2   4 → 6
//                                               step 2   0 → 1   2 → 3   4 → 5   6 → 7
//
// An all-reduce sends the whole array log2 P times: the fewest steps, so best for small arrays (and
// for a barrier, an all-reduce of one element). Extra ranks fold into neighbours (fold.h). The
// all-gather is the second half of halving-doubling, and taken from there.
//
// Source: Thakur, Rabenseifner and Gropp, Optimization of collective communication operations in
// MPICH, Int. J. High Perform. Comput. Appl. 19 (2005), sections 4.1, 4.2 and 4.5.

namespace twinrun {

namespace {

std::uint32_t log2_up(std::uint32_t n) { return static_cast<std::uint32_t>(std::bit_width(n - 1)); }

void all_reduce(const CollectiveSpec& spec,
                std::uint32_t rank,
                std::uint32_t step,
                StepTransfers& out) {
  const Fold fold(spec.ranks);
  const bool first = step < fold.fold_steps();
  const bool last = step == fold.fold_steps() + fold.levels();
  const Action action = last ? Action::kCopy : Action::kReduce;
  if (first || last) {
    if (fold.is_extra(rank)) {
      first ? out.send(rank - 1, whole_of(spec), action)
            : out.receive(rank - 1, whole_of(spec), action);
    } else if (fold.has_extra(rank)) {
      first ? out.receive(rank + 1, whole_of(spec), action)
            : out.send(rank + 1, whole_of(spec), action);
    }
  } else if (!fold.is_extra(rank)) {
    const std::uint32_t distance = 1U << (step - fold.fold_steps());
    const std::uint32_t partner = fold.rank_of(fold.core_of(rank) ^ distance);
    out.send(partner, whole_of(spec), action);
    out.receive(partner, whole_of(spec), action);
  }
}

// `distance` is that of the step; a broadcast goes from the multiple of 2 · distance to its
// neighbour at that distance, a reduce the other way.
void binomial(const CollectiveSpec& spec,
              std::uint32_t rank,
              std::uint32_t distance,
              StepTransfers& out) {
  const bool down = spec.kind == CollectiveKind::kBroadcast;
  const Action action = down ? Action::kCopy : Action::kReduce;
  const std::uint32_t place = (rank + spec.ranks - spec.root) % spec.ranks;
  if (place % distance != 0) {
    return;
  }
  const bool inner = place / distance % 2 == 0;
  const std::uint32_t other = inner ? place + distance : place - distance;
  if (other >= spec.ranks) {
    return;
  }
  const std::uint32_t peer = (other + spec.root) % spec.ranks;
  if (inner == down) {
    out.send(peer, whole_of(spec), action);
  } else {
    out.receive(peer, whole_of(spec), action);
  }
}

std::uint32_t steps(const CollectiveSpec& spec) {
  if (has_root(spec.kind)) {
    return log2_up(spec.ranks);
  }
  if (spec.kind == CollectiveKind::kAllGather) {
    return halving_doubling().steps(spec);
  }
  const Fold fold(spec.ranks);
  return 2 * fold.fold_steps() + fold.levels();
}

std::int64_t bytes_sent(const CollectiveSpec& spec) {
  if (spec.kind == CollectiveKind::kAllGather) {
    return halving_doubling().bytes_sent(spec);
  }
  if (spec.kind == CollectiveKind::kBroadcast) {
    return spec.bytes * log2_up(spec.ranks);
  }
  if (spec.kind == CollectiveKind::kReduce) {
    return spec.ranks > 1 ? spec.bytes : 0;
  }
  const Fold fold(spec.ranks);
  return spec.bytes * (fold.levels() + fold.fold_steps());
}

void transfers(const CollectiveSpec& spec,
               std::uint32_t rank,
               std::uint32_t step,
               StepTransfers& out) {
  const std::uint32_t levels = log2_up(spec.ranks);
  if (spec.kind == CollectiveKind::kBroadcast) {
    binomial(spec, rank, 1U << (levels - 1 - step), out);
  } else if (spec.kind == CollectiveKind::kReduce) {
    binomial(spec, rank, 1U << step, out);
  } else if (spec.kind == CollectiveKind::kAllGather) {
    halving_doubling().transfers(spec, rank, step, out);
  } else {
    all_reduce(spec, rank, step, out);
  }
}

}  // namespace

CollectiveFunctions recursive_doubling() { return {nullptr, steps, bytes_sent, transfers}; }

}  // namespace twinrun
