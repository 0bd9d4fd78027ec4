#pragma once

#include <functional>
#include <vector>

#include "core/plan/plan.h"
#include "exec/execute.h"
#include "exec/mpi/live_table.h"
#include "exec/mpi/part.h"
#include "exec/mpi/part_machine.h"
#include "exec/mpi/post.h"

namespace twinrun::exec {

struct PartOptions {
  ExecuteOptions execute;
  const LiveTable* live = nullptr;  // where times are written as they happen; may be absent
  std::function<bool()> is_asked_to_end = {};  // from outside; may be empty
  MakePartMachine make = make_cpu_part;        // what this process runs it with
};

// By all processes together: runs this one's part of the plan. Whatever goes wrong is in the part.
Part run_part(const Plan& plan, Post& post, const PartOptions& options);

// By all processes together: the first has the parts of all, by rank; those that have not come
// until the deadline are not whole. The others have nothing.
std::vector<Part> gather_parts(Post& post, const Part& own, Post::Clock::time_point deadline);

// The two above, merged: the first has the result. `leave` is set when something failed.
Execution execute_together(const Plan& plan, Post& post, const PartOptions& options);

}  // namespace twinrun::exec
