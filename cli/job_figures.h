#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/io/load_job.h"
#include "core/strategy/strategies.h"
#include "core/topology/topology.h"
#include "core/trace/breakdown.h"
#include "sim/simulate.h"

namespace twinrun::cli {

// The few numbers of a simulated job that searches compare, without the rest of a run.
struct JobFigures {
  std::size_t devices = 0;
  std::int64_t local_batch = 0;
  std::int64_t global_batch = 0;
  double step_s = 0;
  double samples_per_s = 0;
  double t1_s = 0;             // compute of the busiest device
  std::optional<double> t2_s;  // communication alone, when asked for
  double exposed_s = 0;        // of the mean device
  Breakdown parts;
  std::int64_t peak_bytes = 0;      // of the device that is fullest
  std::int64_t capacity_bytes = 0;  // of the same; 0 not known
  bool fits = true;
  std::optional<LinkUse> busiest_link;   // when communication runs alone
  std::optional<double> staleness_mean;  // of workers that do not wait for each other
};

struct FigureOptions {
  bool communication_alone = false;  // a second run, for t2 and the busiest link
  std::int64_t steps = 0;            // 0: as compile() has it
};

// Compiles and simulates. Nothing when the job cannot be carried out on this topology; the reasons
// go to the diagnostics.
std::optional<JobFigures> job_figures(const Job& job,
                                      const Model& model,
                                      const Topology& topology,
                                      const FigureOptions& options,
                                      Diagnostics& diagnostics);

}  // namespace twinrun::cli
