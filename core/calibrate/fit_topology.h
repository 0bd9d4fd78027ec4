#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/calibrate/topology_parameters.h"
#include "core/topology/spec.h"

namespace twinrun {

// Seconds of every measured row on a topology, in the order of the rows. Rows that it cannot run
// have 0 and do not count.
using PredictRows = std::function<std::vector<double>(const TopologySpec& topology)>;

struct FittedParameter {
  TopologyParameter parameter;
  double before = 0;
  double after = 0;
  bool is_used = false;        // some row depends on it at all
  bool is_determined = false;  // … and not only together with others
};

// Errors of some rows: |predicted / measured − 1| in percent.
struct FitError {
  double median_pct = 0;
  double worst_pct = 0;
};

struct TopologyFit {
  TopologySpec topology;
  std::vector<FittedParameter> parameters;
  std::vector<double> before_s;  // by row, predicted
  std::vector<double> after_s;
  std::size_t held_out_rows = 0;
  FitError held_out_before;
  FitError held_out_after;
  FitError fitted_after;
};

// Every fifth row is kept from the fit, to be judged by.
bool is_held_out(std::size_t row);

// Corrects the numbers that the rows depend on, each by a factor, so that the logarithms of
// predicted and measured times agree: Gauss and Newton's steps with Huber's weights, so that a
// tenth of wild rows has next to no effect. A step that does not help is halved, and what no row
// depends on stays as it is. `source` is written to whatever was changed.
TopologyFit fit_topology(const TopologySpec& topology,
                         std::span<const double> measured_s,
                         const PredictRows& predict,
                         const std::string& source);

}  // namespace twinrun
