#include "core/collective/algorithms.h"
#include "core/collective/fold.h"

// Recursive halving and doubling.
//
//   reduce-scatter, P = 4              each pair exchanges halves of what it still works on
//     step 0   0 ⇄ 2   1 ⇄ 3           0 and 1 keep the lower half, 2 and 3 the upper one
//     step 1   0 ⇄ 1   2 ⇄ 3           rank r now holds quarter r, reduced
//   all-gather: the same backwards, copying
//     step 2   0 ⇄ 1   2 ⇄ 3
//     step 3   0 ⇄ 2   1 ⇄ 3
//
// An all-reduce is the two in turn: as few bytes as a ring in 2 log2 P steps. When the number of
// ranks is no power of two, the extra ones fold into neighbours first (fold.h): one step before, in
// which they hand over what they have, and one after, in which they get what they are promised.
//
// Source: Thakur, Rabenseifner and Gropp, Optimization of collective communication operations in
// MPICH, Int. J. High Perform. Comput. Appl. 19 (2005), sections 4.1, 4.3 and 4.5.

namespace twinrun {

namespace {

bool halves(const CollectiveSpec& spec) { return spec.kind != CollectiveKind::kAllGather; }
bool doubles(const CollectiveSpec& spec) { return spec.kind != CollectiveKind::kReduceScatter; }

// Where the part of a core begins. Each rank is promised its own chunk of N, except in an
// all-reduce, where the cores share evenly.
std::int64_t bound(const CollectiveSpec& spec, const Fold& fold, std::uint32_t core) {
  if (core == fold.cores) {
    return spec.bytes;
  }
  return spec.kind == CollectiveKind::kAllReduce
             ? chunk_of(spec, fold.cores, core).begin
             : chunk_of(spec, spec.ranks, fold.rank_of(core)).begin;
}

// The parts of the aligned run of `length` cores that `core` is in.
ByteRange run_of(const CollectiveSpec& spec,
                 const Fold& fold,
                 std::uint32_t core,
                 std::uint32_t length) {
  const std::uint32_t first = core - core % length;
  return {bound(spec, fold, first), bound(spec, fold, first + length)};
}

// Ranks beyond the power of two hand what they have to their neighbour before, or get it back
// after.
struct HandOver {
  ByteRange what;
  Action action = Action::kCopy;
  bool is_from_extra = true;
};

bool is_paired(const Fold& fold, std::uint32_t rank) {
  return fold.is_extra(rank) || fold.has_extra(rank);
}

void hand(const Fold& fold, std::uint32_t rank, const HandOver& over, StepTransfers& out) {
  const std::uint32_t peer = fold.is_extra(rank) ? rank - 1 : rank | 1;
  if (fold.is_extra(rank) == over.is_from_extra) {
    out.send(peer, over.what, over.action);
  } else {
    out.receive(peer, over.what, over.action);
  }
}

void hand_over(const CollectiveSpec& spec,
               const Fold& fold,
               std::uint32_t rank,
               StepTransfers& out) {
  if (!is_paired(fold, rank)) {
    return;
  }
  const ByteRange own = halves(spec) ? whole_of(spec) : chunk_of(spec, spec.ranks, rank | 1);
  hand(fold, rank, {own, halves(spec) ? Action::kReduce : Action::kCopy, true}, out);
}

void hand_back(const CollectiveSpec& spec,
               const Fold& fold,
               std::uint32_t rank,
               StepTransfers& out) {
  if (!is_paired(fold, rank)) {
    return;
  }
  const ByteRange result = doubles(spec) ? whole_of(spec) : chunk_of(spec, spec.ranks, rank | 1);
  hand(fold, rank, {result, Action::kCopy, false}, out);
}

void halve(const CollectiveSpec& spec,
           const Fold& fold,
           std::uint32_t core,
           std::uint32_t length,
           StepTransfers& out) {
  const std::uint32_t partner = core ^ length;
  out.send(fold.rank_of(partner), run_of(spec, fold, partner, length), Action::kReduce);
  out.receive(fold.rank_of(partner), run_of(spec, fold, core, length), Action::kReduce);
}

void double_up(const CollectiveSpec& spec,
               const Fold& fold,
               std::uint32_t core,
               std::uint32_t length,
               StepTransfers& out) {
  const std::uint32_t partner = core ^ length;
  out.send(fold.rank_of(partner), run_of(spec, fold, core, length), Action::kCopy);
  out.receive(fold.rank_of(partner), run_of(spec, fold, partner, length), Action::kCopy);
}

std::uint32_t steps(const CollectiveSpec& spec) {
  const Fold fold(spec.ranks);
  const std::uint32_t phases = (halves(spec) ? 1U : 0U) + (doubles(spec) ? 1U : 0U);
  return 2 * fold.fold_steps() + phases * fold.levels();
}

void transfers(const CollectiveSpec& spec,
               std::uint32_t rank,
               std::uint32_t step,
               StepTransfers& out) {
  const Fold fold(spec.ranks);
  if (step < fold.fold_steps()) {
    return hand_over(spec, fold, rank, out);
  }
  if (fold.fold_steps() > 0 && step + 1 == steps(spec)) {
    return hand_back(spec, fold, rank, out);
  }
  if (fold.is_extra(rank)) {
    return;
  }
  const std::uint32_t level = step - fold.fold_steps();
  const std::uint32_t halvings = halves(spec) ? fold.levels() : 0;
  if (level < halvings) {
    halve(spec, fold, fold.core_of(rank), fold.cores >> (level + 1), out);
  } else {
    double_up(spec, fold, fold.core_of(rank), 1U << (level - halvings), out);
  }
}

// Core 0 holds the largest parts, so it sends most while doubling. While halving everybody sends
// all but its own part, which is what the first doubling sends.
std::int64_t bytes_sent(const CollectiveSpec& spec) {
  const Fold fold(spec.ranks);
  if (spec.ranks == 1) {
    return 0;
  }
  if (!doubles(spec)) {
    return fold.extras > 0 ? spec.bytes : spec.bytes - chunk_size(spec, spec.ranks, spec.ranks - 1);
  }
  std::int64_t sent = fold.extras > 0 ? spec.bytes : 0;
  if (halves(spec)) {
    sent += spec.bytes;
  }
  for (std::uint32_t length = halves(spec) ? 2 : 1; length < fold.cores; length *= 2) {
    sent += run_of(spec, fold, 0, length).size();
  }
  return sent;
}

}  // namespace

CollectiveFunctions halving_doubling() { return {nullptr, steps, bytes_sent, transfers}; }

}  // namespace twinrun
