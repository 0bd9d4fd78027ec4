#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/diagnostics.h"
#include "core/io/source.h"
#include "core/trace/kineto_events.h"

namespace twinrun {

// Whether a JSON text is a trace of a profiler: an object with "traceEvents". Reads the keys at the
// top up to it.
bool is_kineto(const Source& source);

// Reads a file of PyTorch's profiler, plain or packed, event by event; times exactly. Complains
// (E0811) about a file without events; there is nothing when it is not JSON.
std::optional<KinetoFile> read_kineto(const Source& source, Diagnostics& diagnostics);

// The files of a folder that may hold a rank each: *.json and *.json.gz, in the order of their
// names, numbers in them by value.
std::vector<std::string> kineto_files(const std::string& folder);

// Reads all of them. Two files of one rank are refused (E0812); a file that does not say its rank
// has that of its name (rank3.json), or its place among them.
std::vector<KinetoFile> read_kineto_ranks(const std::vector<Source>& sources,
                                          Diagnostics& diagnostics);

}  // namespace twinrun
