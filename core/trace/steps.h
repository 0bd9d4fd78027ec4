#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/units.h"
#include "core/plan/plan.h"
#include "core/trace/trace.h"

namespace twinrun {

// The training step an op belongs to: 3 of "step3/backward/layer1@rank0"; nothing without one.
std::optional<std::int64_t> step_of(std::string_view id);
// "backward/layer1" of the same: equal over steps and ranks, so that viewers add up and colour
// alike.
std::string_view name_within_step(std::string_view id);

// How long each step took: from the end of the one before (the start of the run for the first) to
// its own. One step, the whole run, when the ids name none.
std::vector<Time> step_times(const Plan& plan, const Trace& trace);

}  // namespace twinrun
