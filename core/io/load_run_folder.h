#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "core/base/diagnostics.h"
#include "core/io/load_job.h"
#include "core/plan/plan.h"
#include "core/topology/topology.h"
#include "core/trace/trace.h"

namespace twinrun {

// What `simulate --out` and `execute --out` leave, read back.
struct RunFolder {
  std::string path;
  std::optional<LoadedJob> job;  // none when a plan was run
  TopologySpec topology_spec;
  Topology topology;
  Plan plan;
  Trace trace;
  nlohmann::ordered_json result;  // twinrun/result/1

  // Steps before those that count; 0 when the result does not say.
  [[nodiscard]] std::int64_t warmup_steps() const;
  // A number of the result by its key; nothing when it is absent or null.
  [[nodiscard]] std::optional<double> result_number(const std::string& key) const;
};

// Whether the folder holds, or was meant to hold, a run: plan.json is there.
bool is_run_folder(const std::string& path);

// Reads job.json (if there), topology.json, plan.json, trace.json and result.json; all complaints
// of all of them go to the diagnostics, and nothing is returned when one is an error. A folder
// without its result, which is written last, is not complete (E0805).
std::optional<RunFolder> load_run_folder(const std::string& path, Diagnostics& diagnostics);

}  // namespace twinrun
