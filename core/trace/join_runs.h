#pragma once

#include <cstdint>
#include <vector>

#include "core/trace/folded_run.h"

namespace twinrun {

// How an op of one run was found in the other.
enum class JoinedBy : std::uint8_t { kNothing, kName, kOrderAndSize };

// The ops of two mean steps side by side.
struct RunJoin {
  std::vector<FoldedId> in_b;  // by the FoldedId of a; no_id: only in a
  std::vector<FoldedId> in_a;  // by the FoldedId of b; no_id: only in b
  std::vector<JoinedBy> how;   // by the FoldedId of a
};

// Joins by name: runs of one job, simulated or executed, have the same ids. What is left of
// collectives, as all are when one side is a foreign trace, is joined by rank, kind, size and
// order: the third all-reduce of 25 MiB that rank 0 starts in a step is the third there too.
// Nothing else is guessed.
RunJoin join_runs(const FoldedRun& a, const FoldedRun& b);

// Which device of b is the same as one of a: by name, else the one in the same position of the list
// unless that has a name of a; no_id when there is none.
std::vector<DeviceId> join_devices(const Plan& a, const Plan& b);

}  // namespace twinrun
