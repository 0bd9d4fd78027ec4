#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/csr.h"
#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/plan/plan.h"
#include "core/plan/run_graph.h"

namespace twinrun {

// Every op after its predecessors, by dependencies alone (streams play no part); nothing when they
// form a cycle.
std::optional<std::vector<OpId>> topological_order(const Plan& plan);

// A knot of rows that all reach each other, and one way round inside it.
struct Cycle {
  std::vector<OpId> way;        // each has an edge to the next, the last to the first
  std::vector<OpId> component;  // everything in the knot, ascending; the way is part of it
};

// One cycle for each strongly connected component with more than one member, ordered by first
// member. Edges of a row to itself are left out.
std::vector<Cycle> find_cycles(const Csr<OpId, OpId>& edges);

struct CriticalPath {
  std::vector<OpId> ops;  // from the first to the last; of ops that start together one
  Time length;            // sum of the given durations on it
};

// The longest chain of the run graph, by number of ops or by given durations (an op without one
// takes no time; ops that start together take the longest of theirs). Ops that never start are not
// part of it.
CriticalPath critical_path_by_count(const RunGraph& graph, const RunOrder& order);
CriticalPath critical_path_by_duration(const RunGraph& graph, const RunOrder& order);

}  // namespace twinrun
