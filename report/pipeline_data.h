#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/plan/plan.h"
#include "core/trace/trace.h"

namespace twinrun::report {

// The last step of a pipeline as people draw it: a row a device, a block for each stretch of passes
// of one micro-batch, [phase, micro-batch, start, duration] in ns from the step's begin; the phases
// are forward, backward and recompute, 0 to 2. Null when there is no pipeline: the ops name no
// micro-batches, or no device sends activations.
nlohmann::ordered_json pipeline_data(const Plan& plan, const Trace& trace);

}  // namespace twinrun::report
