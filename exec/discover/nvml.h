#pragma once

#include <string>
#include <vector>

#include "exec/discover/machine.h"

namespace twinrun::exec {

// What NVIDIA's driver says of its GPUs, in its own order, through its management library: names,
// memory, NVLinks and who reaches whom. Nothing is started on a GPU for it. Empty when the library
// is not there or does not answer; what it cannot say of a GPU is left open.
//
// The library comes with the driver: libnvidia-ml.so.1, or the file that TWINRUN_NVML names.
std::vector<DriverGpu> gpus_of_nvml();
std::vector<DriverGpu> gpus_of_nvml(const std::string& library);

}  // namespace twinrun::exec
