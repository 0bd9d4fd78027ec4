#pragma once

#include "core/base/ids.h"
#include "core/plan/plan.h"
#include "core/trace/trace.h"
#include "core/trace/write_options.h"

namespace twinrun {

// One rank of a run in the JSON of PyTorch's profiler (Kineto), which HTA, chrome://tracing and
// Perfetto read: slices by row, host slices ProfilerStep#n, memory counters, flows from send to
// recv. Times are microseconds with three decimals. Events come in order of time, so a file that
// reaches the cap is complete up to an instant. Memory does not grow with the number of events.
// The counts are of the ops of this rank.
TraceWriteCounts write_kineto(const Plan& plan,
                              const Trace& trace,
                              DeviceId rank,
                              const TraceWriteOptions& options,
                              const TraceSink& sink);

}  // namespace twinrun
