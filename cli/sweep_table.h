#pragma once

#include <string>
#include <vector>

#include "cli/job_figures.h"
#include "cli/output.h"
#include "cli/sweep_grid.h"

namespace twinrun::cli {

struct SweepResult {
  std::vector<SweepAxis> axes;
  std::vector<nlohmann::ordered_json> points;  // null: not simulated here
  std::size_t simulated = 0;                   // in this run; the others were there
};

void add_figures(const JobFigures& figures, nlohmann::ordered_json& point);

// The table of all points: what was set, what came out, which is best in each column, and which
// are beaten by none in step, memory and devices together. Exit code 7 when some failed.
Output sweep_output(const SweepResult& result);

}  // namespace twinrun::cli
