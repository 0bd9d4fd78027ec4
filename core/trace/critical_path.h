#pragma once

#include <vector>

#include "core/base/units.h"
#include "core/plan/plan.h"
#include "core/trace/intervals.h"
#include "core/trace/trace.h"

namespace twinrun {

// The chain of ops that decided when the run ended, across all devices: each began the moment the
// one before it ended, or later by a wait that nothing in the plan explains (a measured run has
// such gaps, a simulated one none).
struct CriticalPath {
  std::vector<OpId> ops;  // in order of time
  Time compute{};
  Time communication{};
  Time wait{};  // gaps, and time before the first op
};

CriticalPath critical_path(const Plan& plan, const Trace& trace);
// Of a part of the run: what decided when the last op to end in it ended. Ops that ended before it
// began are left out; the first may have started before.
CriticalPath critical_path(const Plan& plan, const Trace& trace, const Interval& window);

}  // namespace twinrun
