#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostics.h"
#include "core/base/place_map.h"
#include "core/io/json_tree.h"

namespace twinrun {

// A value from the command line that wins over the job's file.
struct JobOverride {
  std::string option;  // as typed, for complaints: "--set training.dtype=fp16", "--model gpt2"
  std::string path;    // training.dtype, topology.nodes, model
  std::string value;   // JSON, or else a string
};

// "training.dtype=fp16" of --set. UsageError when there is no "=".
JobOverride parse_override(const std::string& text);

// Puts the values into the job, in order, and notes that they were written on the command line.
// Below a topology that is an expression or a name, a key extends the expression:
// topology.nodes=4 makes dgx-a100 into dgx-a100:nodes=4. Other names and files are written out
// first: model.transformer.layers=4 makes gpt2 smaller. Paths that lead nowhere are complained
// about (E0701).
void apply_overrides(JsonTree& job,
                     const std::vector<JobOverride>& overrides,
                     const std::string& file,
                     PlaceMap& places,
                     Diagnostics& diagnostics);

}  // namespace twinrun
