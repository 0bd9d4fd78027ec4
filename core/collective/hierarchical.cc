#include <algorithm>
#include <vector>

#include "core/collective/algorithms.h"
#include "core/collective/ring.h"

// Hierarchical: rings inside the machines, where links are fast, and one ring between
// machines for each local rank, which carries only that rank's share.
//
//   machine 0      machine 1
//    0 → 1          4 → 5         1. reduce-scatter in each machine: local rank g holds share g
//    ↑   ↓          ↑   ↓         2. all-reduce of share g over the ranks with local rank g:
//    3 ← 2          7 ← 6              0 ⇄ 4   1 ⇄ 5   2 ⇄ 6   3 ⇄ 7
//                                 3. all-gather in each machine
//
// 2(G - 1) + 2(M - 1) steps for M machines of G ranks; each rank sends 2 K (G - 1) / G bytes inside
// and 2 (K / G) (M - 1) / M outside.
//
// A reduce-scatter or all-gather promises rank r chunk r of N, so the share of local rank g is
// every G-th chunk: M messages a step inside, which go together.
//
//   all-gather     1. between machines: 0 ⇄ 4 …; local rank g then holds chunks g, G + g, …
//                  2. those go round in each machine
//   reduce-scatter is the same backwards, reducing. G - 1 + M - 1 steps each.
//
// Source: Cho et al., BlueConnect: Decomposing all-reduce for deep learning on heterogeneous
// network hierarchy, SysML 2019; Horovod's hierarchical all-reduce has the same three phases.

namespace twinrun {

namespace {

struct Rings {
  Rings(const CollectiveSpec& spec, std::uint32_t rank)
      : inner{spec.ranks_per_node, rank % spec.ranks_per_node, rank - rank % spec.ranks_per_node, 1,
              whole_of(spec),      spec.element_bytes},
        outer{spec.ranks / spec.ranks_per_node,
              rank / spec.ranks_per_node,
              inner.index,
              spec.ranks_per_node,
              chunk_of(spec, inner.members, inner.index),
              spec.element_bytes} {}
  Ring inner;  // in the machine
  Ring outer;  // over the ranks with this local rank; its part of an all-reduce is this share
};

std::uint32_t steps(const CollectiveSpec& spec) {
  const std::uint32_t once = spec.ranks_per_node - 1 + spec.ranks / spec.ranks_per_node - 1;
  return spec.kind == CollectiveKind::kAllReduce ? 2 * once : once;
}

void all_reduce(const Rings& rings, std::uint32_t step, StepTransfers& out) {
  const std::uint32_t inside = rings.inner.members - 1;
  const std::uint32_t between = rings.outer.members - 1;
  if (step < inside) {
    ring_reduce_scatter(rings.inner, step, out);
  } else if (step < inside + between) {
    ring_reduce_scatter(rings.outer, step - inside, out);
  } else if (step < inside + 2 * between) {
    ring_all_gather(rings.outer, step - inside - between, out);
  } else {
    ring_all_gather(rings.inner, step - inside - 2 * between, out);
  }
}

// Between machines one chunk goes on to the next: that of the machine `back` places behind.
void pass_chunk(const CollectiveSpec& spec,
                const Rings& rings,
                std::uint32_t back,
                Action action,
                StepTransfers& out) {
  const Ring& ring = rings.outer;
  const auto chunk = [&](std::uint32_t machine) {
    return chunk_of(spec, spec.ranks, machine * rings.inner.members + rings.inner.index);
  };
  out.send(ring.next(), chunk(ring.place_behind(back)), action);
  out.receive(ring.previous(), chunk(ring.place_behind(back + 1)), action);
}

// In a machine a whole share goes on: the chunks that are for one local rank of every machine.
void pass_share(const CollectiveSpec& spec,
                const Rings& rings,
                std::uint32_t back,
                Action action,
                StepTransfers& out) {
  const Ring& ring = rings.inner;
  for (std::uint32_t first = 0; first < spec.ranks; first += ring.members) {
    out.send(ring.next(), chunk_of(spec, spec.ranks, first + ring.place_behind(back)), action);
    out.receive(ring.previous(), chunk_of(spec, spec.ranks, first + ring.place_behind(back + 1)),
                action);
  }
}

void transfers(const CollectiveSpec& spec,
               std::uint32_t rank,
               std::uint32_t step,
               StepTransfers& out) {
  const Rings rings(spec, rank);
  const std::uint32_t inside = rings.inner.members - 1;
  const std::uint32_t between = rings.outer.members - 1;
  if (spec.kind == CollectiveKind::kAllReduce) {
    all_reduce(rings, step, out);
  } else if (spec.kind == CollectiveKind::kAllGather) {
    step < between ? pass_chunk(spec, rings, step, Action::kCopy, out)
                   : pass_share(spec, rings, step - between, Action::kCopy, out);
  } else {
    step < inside ? pass_share(spec, rings, step + 1, Action::kReduce, out)
                  : pass_chunk(spec, rings, step - inside + 1, Action::kReduce, out);
  }
}

// What a ring all-reduce leaves out at best is its two last chunks, which are the smallest.
std::int64_t outside_bytes(const CollectiveSpec& spec, ByteRange share, std::uint32_t machines) {
  if (machines == 1) {
    return 0;
  }
  return 2 * share.size() - chunk_of(share, spec.element_bytes, machines, machines - 1).size() -
         chunk_of(share, spec.element_bytes, machines, machines - 2).size();
}

std::int64_t all_reduce_bytes(const CollectiveSpec& spec) {
  const std::uint32_t inside = spec.ranks_per_node;
  std::int64_t most = 0;
  for (std::uint32_t local = 0; local < inside; ++local) {
    const ByteRange share = chunk_of(spec, inside, local);
    const std::int64_t next = chunk_size(spec, inside, (local + 1) % inside);
    const std::int64_t within = inside == 1 ? 0 : 2 * spec.bytes - share.size() - next;
    most = std::max(most, within + outside_bytes(spec, share, spec.ranks / inside));
  }
  return most;
}

// Its share but for the next machine's chunk, the last of which is the smallest; then all but the
// share of the next local rank.
std::int64_t all_gather_bytes(const CollectiveSpec& spec) {
  const std::uint32_t inside = spec.ranks_per_node;
  std::vector<std::int64_t> shares(inside);
  for (std::uint32_t rank = 0; rank < spec.ranks; ++rank) {
    shares[rank % inside] += chunk_size(spec, spec.ranks, rank);
  }
  std::int64_t most = 0;
  for (std::uint32_t local = 0; local < inside; ++local) {
    const std::int64_t last = chunk_size(spec, spec.ranks, spec.ranks - inside + local);
    const std::int64_t next = shares[(local + 1) % inside];
    most = std::max(most, shares[local] - last + spec.bytes - next);
  }
  return most;
}

std::int64_t bytes_sent(const CollectiveSpec& spec) {
  if (spec.kind == CollectiveKind::kAllReduce) {
    return all_reduce_bytes(spec);
  }
  return spec.kind == CollectiveKind::kAllGather
             ? all_gather_bytes(spec)
             : spec.bytes - chunk_size(spec, spec.ranks, spec.ranks - 1);
}

}  // namespace

CollectiveFunctions hierarchical() { return {nullptr, steps, bytes_sent, transfers}; }

}  // namespace twinrun
