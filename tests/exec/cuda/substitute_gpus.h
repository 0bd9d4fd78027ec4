#pragma once

#include <memory>

#include "exec/cuda/gpu_runtime.h"

namespace twinrun::exec {

// The plugin's own objects over the substitute, with so many devices that reach each other.
// Everything of earlier runs is forgotten first.
std::shared_ptr<GpuRuntime> substitute_gpus(int devices);

}  // namespace twinrun::exec
