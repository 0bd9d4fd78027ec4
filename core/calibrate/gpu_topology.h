#pragma once

#include <string>

#include "core/calibrate/measure_compute.h"
#include "core/topology/spec.h"

namespace twinrun {

// The GPUs of that device become one that was measured. What is known on paper stays where nothing
// contradicts it (the model of what was not measured counts in shares of it), and gives way where
// the device was seen to do more.
void put_measured_gpu(TopologySpec& topology,
                      const std::string& device,
                      const ComputeSpeed& compute,
                      const std::string& source);

}  // namespace twinrun
