#pragma once

#include <string>
#include <vector>

#include "core/base/diagnostics.h"
#include "core/base/place_map.h"
#include "core/io/job_inputs.h"
#include "core/io/job_overrides.h"
#include "core/io/json_tree.h"
#include "core/io/source.h"
#include "core/model/model.h"
#include "core/strategy/job.h"
#include "core/topology/spec.h"

namespace twinrun {

// A job with all it names.
struct LoadedJob {
  Job job;
  Model model;
  TopologySpec topology;
  bool model_is_named = false;     // in the catalogue: the name says all
  bool topology_is_named = false;  // … or an expression
};

struct JobOptions {
  std::vector<JobOverride> overrides;  // --model, --topology and --set, in order
  OpenSource open = Source::of_argument;
};

// Reads a job (twinrun/job/1): keys under any of their names, overridden by options, model and
// topology looked up. Complaints go to the diagnostics, each at what the person wrote; with errors
// the result is incomplete.
LoadedJob read_job(const Source& source, const JobOptions& options, Diagnostics& diagnostics);

// The same for a job inside another file, whose places the map knows.
LoadedJob read_job_tree(JsonTree tree,
                        PlaceMap places,
                        const JobOptions& options,
                        Diagnostics& diagnostics);

// Whether a JSON text is a job rather than a plan: by its "schema", or by keys that only one has.
// Reads no further than needed.
bool is_job(const Source& source);

}  // namespace twinrun
