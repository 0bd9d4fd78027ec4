#pragma once

#include <memory>
#include <string>

#include "exec/cuda/gpu_runtime.h"

namespace twinrun::exec {

// Opens the plugin, or the file that TWINRUN_CUDA_PLUGIN names. BackendMissing with a sentence when
// there is no plugin, a library that it needs is missing, the driver is missing or too old, or
// there is no GPU.
std::unique_ptr<GpuRuntime> open_gpus();

}  // namespace twinrun::exec
