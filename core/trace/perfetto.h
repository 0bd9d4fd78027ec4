#pragma once

#include "core/plan/plan.h"
#include "core/trace/trace.h"
#include "core/trace/write_options.h"

namespace twinrun {

// All ranks of a run in one file for the Perfetto UI (protobuf, TrackEvent): a machine is a group,
// a rank a process, a stream a thread, memory and the use of links are counters, a send points at
// its recv. Whole nanoseconds. Events come in order of their starts, so a file that reaches the cap
// is complete up to an instant. Memory grows with streams, links that carried something and
// distinct names, not with events.
TraceWriteCounts write_perfetto(const Plan& plan,
                                const Trace& trace,
                                const TraceWriteOptions& options,
                                const TraceSink& sink);

}  // namespace twinrun
