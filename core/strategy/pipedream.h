#pragma once

#include <cstdint>
#include <vector>

#include "core/strategy/layout.h"
#include "core/strategy/schedule.h"

namespace twinrun {

// PipeDream (Narayanan et al., SOSP 2019): one forward and one backward in turn with no flush over
// all steps, an update after every backward.
std::vector<StageAction> pipedream_schedule(const ScheduleShape& shape, std::int64_t stage);

// Updates that come between the forward pass of a micro-batch and the update its gradient makes,
// once the pipeline is full.
std::int64_t pipedream_staleness(std::int64_t stages, std::int64_t stage);
// Copies of its weights that a stage keeps: a pass goes back with those it came forward with.
std::int64_t pipedream_versions(std::int64_t stages, std::int64_t stage);

}  // namespace twinrun
