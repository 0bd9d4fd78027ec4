#pragma once

#include <optional>

#include "core/base/diagnostics.h"
#include "core/io/source.h"
#include "core/plan/plan.h"
#include "core/trace/trace.h"

namespace twinrun {

// Whether a JSON text is a trace of ours (twinrun/trace/1), by its "schema". Reads no further than
// needed.
bool is_trace(const Source& source);

// Streams a trace file (twinrun/trace/1) of this plan in; one of another plan is refused (E0801).
// All complaints go to the diagnostics; there is a trace when there were none. Ops that the file
// left out have not run, as far as the trace knows (W0801).
std::optional<Trace> load_trace(const Source& source, const Plan& plan, Diagnostics& diagnostics);

}  // namespace twinrun
