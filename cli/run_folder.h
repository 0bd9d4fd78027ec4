#pragma once

#include <string>
#include <vector>

#include "cli/output.h"
#include "cli/run_input.h"
#include "core/trace/trace.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's own name
class App;
}

namespace twinrun::cli {

// What of a run is written, and where.
struct RunFiles {
  std::string out;          // run folder: job, plan, topology, trace, result (.json), log, traces
  std::string trace;        // traces alone
  std::string trace_ranks;  // devices, or all
  std::string trace_steps;  // "2", "0,3", "2-5", or all
  bool force = false;       // replace what is there
};

void add_run_file_options(CLI::App& app, RunFiles& files);

// Before a run that takes long: UsageError when the folder holds one that may not be replaced.
void check_run_folder(const RunFiles& files);

// Writes what was asked for and returns lines that say where it is and what was left out.
// UsageError when a folder holds a run already.
std::vector<std::string> write_run_files(const RunFiles& files,
                                         const RunInput& input,
                                         const Trace& trace,
                                         const nlohmann::ordered_json& result);

}  // namespace twinrun::cli
