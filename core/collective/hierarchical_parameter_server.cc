#include <algorithm>

#include "core/collective/algorithms.h"
#include "core/collective/parameter_server.h"

// Hierarchical parameter server: machines first, so that a machine's array crosses the network
// once.
//
//   machine 0        machine 1
//    1 ─┐             4 ─┐            1. every rank sends its array to the first of its machine
//    2 ─┴→ 0          5 ─┴→ 3         2. the first ranks push to the servers
//          └→ S ←───────────┘         3. and pull
//                                     4. and copy to the ranks of their machine
//
// Source: the two-level push of MXNet (device kvstore below a distributed one) and of BytePS: Jiang
// et al., A unified architecture for accelerating distributed DNN training in heterogeneous GPU/CPU
// clusters, OSDI 2020.

namespace twinrun {

namespace {

std::uint32_t local_steps(const CollectiveSpec& spec) { return spec.ranks_per_node > 1 ? 1 : 0; }

ServerGroup group_of(const CollectiveSpec& spec) { return servers_of(spec, spec.ranks_per_node); }

std::optional<std::string> refusal(const CollectiveSpec& spec) {
  return too_many_servers(group_of(spec));
}

std::uint32_t steps(const CollectiveSpec& spec) {
  return 2 * local_steps(spec) + group_of(spec).steps();
}

// Between the first rank of a machine and the others: in before the push, out after the pull.
void in_machine(const CollectiveSpec& spec, std::uint32_t rank, bool in, StepTransfers& out) {
  const std::uint32_t leader = rank - rank % spec.ranks_per_node;
  const Action action = in ? Action::kReduce : Action::kCopy;
  if (rank >= spec.ranks) {
    return;  // a server
  }
  if (rank != leader) {
    in ? out.send(leader, whole_of(spec), action) : out.receive(leader, whole_of(spec), action);
    return;
  }
  for (std::uint32_t other = leader + 1; other < leader + spec.ranks_per_node; ++other) {
    in ? out.receive(other, whole_of(spec), action) : out.send(other, whole_of(spec), action);
  }
}

void transfers(const CollectiveSpec& spec,
               std::uint32_t rank,
               std::uint32_t step,
               StepTransfers& out) {
  const std::uint32_t local = local_steps(spec);
  if (step < local) {
    in_machine(spec, rank, true, out);
  } else if (local > 0 && step + 1 == steps(spec)) {
    in_machine(spec, rank, false, out);
  } else if (step == local) {
    push(spec, group_of(spec), rank, out);
  } else {
    pull(spec, group_of(spec), rank, out);
  }
}

std::int64_t bytes_sent(const CollectiveSpec& spec) {
  const ServerGroup group = group_of(spec);
  const std::int64_t leader =
      (std::int64_t{spec.ranks_per_node} - 1) * spec.bytes + worker_bytes(spec, group);
  return std::max(leader, appended_server_bytes(spec, group));
}

}  // namespace

CollectiveFunctions hierarchical_parameter_server() {
  return {refusal, steps, bytes_sent, transfers};
}

}  // namespace twinrun
