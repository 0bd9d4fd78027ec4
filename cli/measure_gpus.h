#pragma once

#include <string>
#include <vector>

#include "cli/measured_rows.h"
#include "core/base/dtype.h"
#include "core/calibrate/fit_topology.h"
#include "core/calibrate/measure_gpu_compute.h"
#include "core/calibrate/run_plan.h"
#include "core/calibrate/traffic_plan.h"
#include "core/topology/spec.h"

namespace twinrun::cli {

// What is to be measured, and on what.
struct GpusToMeasure {
  int count = 1;               // the first so many of the topology's
  std::vector<Dtype> formats;  // that they multiply in
  GpuShapes shapes;
  Traffic sizes;              // bytes and rounds; between whom follows from the topology
  std::uint32_t side = 4096;  // of products beside sums
  std::string source;         // of what is measured
};
GpusToMeasure all_of_gpus();
GpusToMeasure little_of_gpus();  // --quick

struct MeasuredGpus {
  TopologySpec topology;
  std::string device;  // of the GPUs that were measured, as it was called before
  ComputeSpeed compute;
  std::vector<MeasuredRow> traffic;
  std::vector<double> predicted_s;  // of the traffic, by the topology
  double traffic_spread_pct = 0;    // of single messages, copies and sums around their medians
  TopologyFit fit;                  // of the links
  double slowdown = 0;              // of compute beside sums; 0: not measured
  std::vector<std::string> not_determined;
};

// Measures the GPUs of a machine that was described, and corrects the description: products, copies
// and launches of the first GPU for all of its kind, links by messages between GPUs, copies with
// their hosts and large sums. Small sums are measured and left out of the fit (they are NCCL's own
// latencies, which no number of a topology changes), and so are small copies over links that
// messages take.
MeasuredGpus measure_gpus(const RunPlan& run,
                          const TopologySpec& described,
                          const GpusToMeasure& what,
                          const MeasureProgress& progress = {});

}  // namespace twinrun::cli
