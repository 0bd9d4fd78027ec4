#include <algorithm>

#include "core/collective/algorithms.h"
#include "core/collective/ring.h"

// Hierarchical all-reduce: rings inside the machines, where links are fast, and one ring between
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
// Source: Cho et al., BlueConnect: Decomposing all-reduce for deep learning on heterogeneous
// network hierarchy, SysML 2019; Horovod's hierarchical all-reduce has the same three phases.

namespace twinrun {

namespace {

std::uint32_t steps(const CollectiveSpec& spec) {
  const std::uint32_t machines = spec.ranks / spec.ranks_per_node;
  return 2 * (spec.ranks_per_node - 1) + 2 * (machines - 1);
}

void transfers(const CollectiveSpec& spec,
               std::uint32_t rank,
               std::uint32_t step,
               StepTransfers& out) {
  const std::uint32_t inside = spec.ranks_per_node;
  const std::uint32_t machines = spec.ranks / inside;
  const std::uint32_t machine = rank / inside;
  const std::uint32_t local = rank % inside;
  const Ring inner{inside, local, machine * inside, 1, whole_of(spec), spec.element_bytes};
  const Ring outer{machines,          machine, local, inside, chunk_of(spec, inside, local),
                   spec.element_bytes};
  if (step < inside - 1) {
    return ring_reduce_scatter(inner, step, out);
  }
  step -= inside - 1;
  if (step < machines - 1) {
    return ring_reduce_scatter(outer, step, out);
  }
  step -= machines - 1;
  if (step < machines - 1) {
    return ring_all_gather(outer, step, out);
  }
  ring_all_gather(inner, step - (machines - 1), out);
}

// What a ring all-reduce leaves out at best is its two last chunks, which are the smallest.
std::int64_t outside_bytes(const CollectiveSpec& spec, ByteRange share, std::uint32_t machines) {
  if (machines == 1) {
    return 0;
  }
  return 2 * share.size() - chunk_of(share, spec.element_bytes, machines, machines - 1).size() -
         chunk_of(share, spec.element_bytes, machines, machines - 2).size();
}

std::int64_t bytes_sent(const CollectiveSpec& spec) {
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

}  // namespace

CollectiveFunctions hierarchical() { return {nullptr, steps, bytes_sent, transfers}; }

}  // namespace twinrun
