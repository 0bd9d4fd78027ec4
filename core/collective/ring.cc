#include "core/collective/ring.h"

#include "core/base/check.h"
#include "core/collective/algorithms.h"

// Ring: each rank sends to the next one only.
//
//       0 → 1            reduce-scatter, N = 4, who sends which chunk:
//       ↑   ↓              step 0   0:3 1:0 2:1 3:2
//       3 ← 2              step 1   0:2 1:3 2:0 3:1
//                          step 2   0:1 1:2 2:3 3:0     rank r now holds chunk r, reduced
//
// The all-gather goes on in the same way, copying: rank r sends chunk r, then what came in. An
// all-reduce is the two in turn. N - 1 steps each; every rank sends all chunks but one, which is
// the least possible. Broadcast and reduce are chains along the ring, from the root on and towards
// the root, cut into N chunks that follow each other:
//
//       root → root+1 → … → root-1       step s: the p-th of the chain passes chunk s - p on
//
// Source: Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations,
// J. Parallel Distrib. Comput. 69 (2009).

namespace twinrun {

std::uint32_t Ring::next() const { return first + (index + 1 == members ? 0 : index + 1) * stride; }

std::uint32_t Ring::previous() const {
  return first + (index == 0 ? members - 1 : index - 1) * stride;
}

std::uint32_t Ring::place_behind(std::uint32_t back) const {
  return index >= back ? index - back : index + members - back;
}

ByteRange Ring::chunk_behind(std::uint32_t back) const {
  return chunk_of(whole, element_bytes, members, place_behind(back));
}

void ring_reduce_scatter(const Ring& ring, std::uint32_t step, StepTransfers& out) {
  const ByteRange leaving = ring.chunk_behind(step + 1);
  const ByteRange coming = ring.chunk_behind(step + 2);
  out.send(ring.next(), leaving, Action::kReduce);
  out.receive(ring.previous(), coming, Action::kReduce);
}

void ring_all_gather(const Ring& ring, std::uint32_t step, StepTransfers& out) {
  const ByteRange leaving = ring.chunk_behind(step);
  const ByteRange coming = ring.chunk_behind(step + 1);
  out.send(ring.next(), leaving, Action::kCopy);
  out.receive(ring.previous(), coming, Action::kCopy);
}

namespace {

// The chain begins at rank `head`; each passes on what came in one step before.
void chain(const CollectiveSpec& spec,
           std::uint32_t head,
           std::uint32_t rank,
           std::uint32_t step,
           StepTransfers& out) {
  const std::uint32_t ranks = spec.ranks;
  const std::uint32_t place = (rank + ranks - head) % ranks;
  const Action action = spec.kind == CollectiveKind::kReduce ? Action::kReduce : Action::kCopy;
  if (place + 1 < ranks && step >= place && step - place < ranks) {
    const std::uint32_t to = rank + 1 == ranks ? 0 : rank + 1;
    out.send(to, chunk_of(spec, ranks, step - place), action);
  }
  if (place > 0 && step + 1 >= place && step + 1 - place < ranks) {
    const std::uint32_t from = rank == 0 ? ranks - 1 : rank - 1;
    out.receive(from, chunk_of(spec, ranks, step + 1 - place), action);
  }
}

std::uint32_t steps(const CollectiveSpec& spec) {
  const bool once =
      spec.kind == CollectiveKind::kReduceScatter || spec.kind == CollectiveKind::kAllGather;
  return (once ? 1 : 2) * (spec.ranks - 1);
}

// The two last chunks are neighbours on the ring and the smallest: the rank that leaves them out,
// one in each half of an all-reduce, sends most.
std::int64_t bytes_sent(const CollectiveSpec& spec) {
  const std::uint32_t ranks = spec.ranks;
  if (ranks == 1) {
    return 0;
  }
  switch (spec.kind) {
    case CollectiveKind::kAllReduce:
      return 2 * spec.bytes - chunk_size(spec, ranks, ranks - 1) -
             chunk_size(spec, ranks, ranks - 2);
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllGather:
      return spec.bytes - chunk_size(spec, ranks, ranks - 1);
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kReduce:
      return spec.bytes;
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kBarrier:
      break;
  }
  TWINRUN_CHECK(!"a kind the ring does");
  return 0;
}

void transfers(const CollectiveSpec& spec,
               std::uint32_t rank,
               std::uint32_t step,
               StepTransfers& out) {
  const std::uint32_t ranks = spec.ranks;
  const Ring ring{ranks, rank, 0, 1, whole_of(spec), spec.element_bytes};
  switch (spec.kind) {
    case CollectiveKind::kAllReduce:
      return step < ranks - 1 ? ring_reduce_scatter(ring, step, out)
                              : ring_all_gather(ring, step - (ranks - 1), out);
    case CollectiveKind::kReduceScatter:
      return ring_reduce_scatter(ring, step, out);
    case CollectiveKind::kAllGather:
      return ring_all_gather(ring, step, out);
    case CollectiveKind::kBroadcast:
      return chain(spec, spec.root, rank, step, out);
    case CollectiveKind::kReduce:  // the chain starts behind the root and ends there
      return chain(spec, (spec.root + 1) % ranks, rank, step, out);
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kBarrier:
      break;
  }
  TWINRUN_CHECK(!"a kind the ring does");
}

}  // namespace

CollectiveFunctions ring() { return {nullptr, steps, bytes_sent, transfers}; }

}  // namespace twinrun
