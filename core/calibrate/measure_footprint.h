#pragma once

#include <vector>

#include "core/calibrate/run_plan.h"
#include "core/topology/spec.h"

namespace twinrun {

// How much longer compute takes for each byte of its operands when more and more devices compute
// beside each other, each on memory of its own: they share caches and memory. Devices are threads
// named cpu0, cpu1, …; the first point is one alone, whose operands the caches hold. The median of
// so many rounds counts.
std::vector<FootprintPoint> measure_footprint(const RunPlan& run,
                                              int cores,
                                              int rounds,
                                              const MeasureProgress& progress = {});

}  // namespace twinrun
