#pragma once

#include <string>

#include "core/calibrate/run_plan.h"
#include "exec/execute.h"

namespace twinrun::cli {

// What a run that is measured left; CannotRun when it failed.
Trace trace_of(exec::Execution execution, const std::string& backend);

// For whoever measures: each plan is run there, in this process.
RunPlan run_on(const std::string& backend);

}  // namespace twinrun::cli
