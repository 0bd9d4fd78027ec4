#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/compute/efficiency.h"
#include "core/plan/op.h"
#include "core/topology/spec.h"

namespace twinrun {

// An op of a step, so many times.
struct StepOp {
  ComputeOp op;
  Kernel kernel;
  double count = 1;
  double dispatch_s = 0;  // it takes the host at least so long to ask for it
};

// A training step, or a part of one, that somebody timed on one device.
struct MeasuredStep {
  std::string table;  // a file of shared/measured, without .json
  std::string label;
  DeviceSpec device;
  std::vector<StepOp> ops;
  double seconds = 0;
  double weight = 1;  // in fits
};

// Whole steps (and forward and backward alone) on one device of the tables in a folder; of tables
// that are not there, none. Only networks of the catalogue.
std::vector<MeasuredStep> measured_steps(const std::string& folder);
// Forward passes of the same table: inference, which no job of ours does.
std::vector<MeasuredStep> measured_inference(const std::string& folder);

double predicted_s(const MeasuredStep& step, const EfficiencyTable& table);

// Absolute relative errors in percent.
struct ErrorSummary {
  std::size_t count = 0;
  double median = 0;
  double p90 = 0;
  double worst = 0;
  double bias = 0;  // mean of the signed ones
};
ErrorSummary summary_of(const std::vector<std::pair<double, double>>& predicted_and_measured);

}  // namespace twinrun
