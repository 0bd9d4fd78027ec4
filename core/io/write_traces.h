#pragma once

#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "core/trace/trace.h"
#include "core/trace/write_options.h"

namespace twinrun {

struct TraceFilesOptions {
  TraceWriteOptions content;
  bool force = false;  // replace the trace that is in the folder
};

struct TraceFilesSummary {
  std::vector<std::string> files;  // the ranks' JSON in order, then the merged file
  TraceWriteCounts ranks;          // over all rank files
  TraceWriteCounts merged;
};

// Writes a run into a folder, made when missing: rank0.json, rank1.json, … for HTA and
// chrome://tracing, and trace.pftrace with all ranks for Perfetto. HTA reads every JSON of a
// folder, so one that holds a trace already is refused (UsageError); with force the old rank files
// go.
TraceFilesSummary write_traces(const Plan& plan,
                               const Trace& trace,
                               const std::string& folder,
                               const TraceFilesOptions& options);

// "left out: 12 ops beyond the cap of a file, 3 ops that never ran"; "" when
// nothing was.
std::string left_out_text(const TraceFilesSummary& summary);

}  // namespace twinrun
