#pragma once

#include <cstdint>
#include <optional>

#include "core/trace/breakdown.h"
#include "core/trace/counted_steps.h"
#include "core/trace/trace_index.h"

namespace twinrun {

// What a run says about its mean step, over the devices that train. By the ops of the steps that
// count alone, so that a slow first step does not show.
struct RunFigures {
  double step_s = 0;                   // of workers that do not wait for each other: worker_pace.h
  double step_deviation_s = 0;         // over the steps
  double t1_s = 0;                     // compute of the busiest device
  double communication_s = 0;          // in which the mean device communicated
  double exposed_communication_s = 0;  // without computing meanwhile, on the device with the most
  std::optional<double> overlap_pct;   // of communication; nothing without any
};

// All zero when no step counts.
RunFigures run_figures(const TraceIndex& index,
                       const CountedSteps& steps,
                       std::int64_t warmup_steps);

// The breakdown of the same steps.
Breakdown breakdown(const TraceIndex& index, const CountedSteps& steps, std::int64_t warmup_steps);

}  // namespace twinrun
