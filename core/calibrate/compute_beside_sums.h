#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/units.h"
#include "core/calibrate/run_plan.h"

namespace twinrun {

struct BesideSums {
  std::uint32_t side = 4096;  // of products: large enough to fill a GPU
  int products = 16;          // on each device
  Bytes summed{std::int64_t{16} << 20};
  double sum_s = 0;  // what such a sum takes alone: enough are run to last as long as the products
  int rounds = 3;
};

// How many times as long products on all devices take while those sum arrays: a GPU's
// multiprocessors, memory and power are shared by both. The median of the rounds, at least 1.
double measure_compute_beside_sums(const RunPlan& run,
                                   const std::vector<std::string>& devices,
                                   const BesideSums& what,
                                   const MeasureProgress& progress = {});

}  // namespace twinrun
