#pragma once

#include "exec/execute.h"
#include "exec/training/training_work.h"

namespace twinrun::exec {

// The options of a run that reports, beside what its runner tells, the newest step and its loss.
// Refers to both, which outlive the run; as they were where nothing trains or nobody asks.
RunOptions with_step_reports(const ExecuteOptions& options, const TrainingWork* training);

}  // namespace twinrun::exec
