#include "core/base/check.h"
#include "core/collective/algorithms.h"

// Direct: every rank sends to every other one, all at once.
//
//       0 ⇄ 1          all-to-all       rank i's chunk j goes to rank j, as its i-th
//       ⇅ ⤨ ⇅          reduce-scatter   rank i's chunk j goes to rank j, which reduces
//       3 ⇄ 2          all-gather       rank i's chunk i goes to everybody
//
// One step each; an all-reduce is a reduce-scatter and an all-gather, two steps. Broadcast and
// reduce are one step from or to the root. Each rank begins with the peer behind it, so that a
// runner that works through the list in order does not send everything to rank 0 first.
//
// Source: the "direct" collectives of ASTRA-sim 2.0 (Won et al., ISPASS 2023); NCCL's all-to-all is
// the same set of sends and receives in one group.

namespace twinrun {

namespace {

std::uint32_t peer_at(const CollectiveSpec& spec, std::uint32_t rank, std::uint32_t distance) {
  const std::uint32_t left = spec.ranks - rank;
  return distance < left ? rank + distance : distance - left;
}

void scatter_and_reduce(const CollectiveSpec& spec, std::uint32_t rank, StepTransfers& out) {
  const ByteRange own = chunk_of(spec, spec.ranks, rank);
  for (std::uint32_t distance = 1; distance < spec.ranks; ++distance) {
    const std::uint32_t peer = peer_at(spec, rank, distance);
    out.send(peer, chunk_of(spec, spec.ranks, peer), Action::kReduce);
    out.receive(peer, own, Action::kReduce);
  }
}

void gather(const CollectiveSpec& spec, std::uint32_t rank, StepTransfers& out) {
  const ByteRange own = chunk_of(spec, spec.ranks, rank);
  for (std::uint32_t distance = 1; distance < spec.ranks; ++distance) {
    const std::uint32_t peer = peer_at(spec, rank, distance);
    out.send(peer, own, Action::kCopy);
    out.receive(peer, chunk_of(spec, spec.ranks, peer), Action::kCopy);
  }
}

void exchange(const CollectiveSpec& spec, std::uint32_t rank, StepTransfers& out) {
  const ByteRange own = chunk_of(spec, spec.ranks, rank);
  for (std::uint32_t distance = 1; distance < spec.ranks; ++distance) {
    const std::uint32_t peer = peer_at(spec, rank, distance);
    const ByteRange theirs = chunk_of(spec, spec.ranks, peer);
    out.send_into(peer, theirs, theirs.size() * rank);
    out.receive_into(peer, own, own.size() * peer);
  }
}

void from_root(const CollectiveSpec& spec, std::uint32_t rank, StepTransfers& out) {
  if (rank != spec.root) {
    out.receive(spec.root, whole_of(spec), Action::kCopy);
    return;
  }
  for (std::uint32_t distance = 1; distance < spec.ranks; ++distance) {
    out.send(peer_at(spec, rank, distance), whole_of(spec), Action::kCopy);
  }
}

void to_root(const CollectiveSpec& spec, std::uint32_t rank, StepTransfers& out) {
  if (rank != spec.root) {
    out.send(spec.root, whole_of(spec), Action::kReduce);
    return;
  }
  for (std::uint32_t distance = 1; distance < spec.ranks; ++distance) {
    out.receive(peer_at(spec, rank, distance), whole_of(spec), Action::kReduce);
  }
}

std::uint32_t steps(const CollectiveSpec& spec) {
  if (spec.ranks == 1) {
    return 0;
  }
  return spec.kind == CollectiveKind::kAllReduce ? 2 : 1;
}

std::int64_t bytes_sent(const CollectiveSpec& spec) {
  const std::int64_t others = std::int64_t{spec.ranks} - 1;
  const std::int64_t largest = chunk_size(spec, spec.ranks, 0);
  if (others == 0) {
    return 0;
  }
  switch (spec.kind) {
    case CollectiveKind::kAllReduce:  // all but its own chunk, then that to all others
      return spec.bytes + (others - 1) * largest;
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
      return spec.bytes - chunk_size(spec, spec.ranks, spec.ranks - 1);
    case CollectiveKind::kAllGather:
      return others * largest;
    case CollectiveKind::kBroadcast:
      return others * spec.bytes;
    case CollectiveKind::kReduce:
      return spec.bytes;
    case CollectiveKind::kBarrier:
      break;
  }
  TWINRUN_CHECK(!"a kind done directly");
  return 0;
}

void transfers(const CollectiveSpec& spec,
               std::uint32_t rank,
               std::uint32_t step,
               StepTransfers& out) {
  switch (spec.kind) {
    case CollectiveKind::kAllReduce:
      return step == 0 ? scatter_and_reduce(spec, rank, out) : gather(spec, rank, out);
    case CollectiveKind::kReduceScatter:
      return scatter_and_reduce(spec, rank, out);
    case CollectiveKind::kAllGather:
      return gather(spec, rank, out);
    case CollectiveKind::kAllToAll:
      return exchange(spec, rank, out);
    case CollectiveKind::kBroadcast:
      return from_root(spec, rank, out);
    case CollectiveKind::kReduce:
      return to_root(spec, rank, out);
    case CollectiveKind::kBarrier:
      break;
  }
  TWINRUN_CHECK(!"a kind done directly");
}

}  // namespace

CollectiveFunctions direct() { return {nullptr, steps, bytes_sent, transfers}; }

}  // namespace twinrun
