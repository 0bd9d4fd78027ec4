#pragma once

#include <memory>
#include <string>
#include <vector>

#include "exec/cuda/gpu_runtime.h"

namespace twinrun {

// The GPUs that a test program runs plans on: those of the substitute, or real ones. A program
// links one of the two files that say which.

// Why there are none; "" when there are.
std::string why_no_gpus();
// So many, where they can be made; those that there are, where they are real.
std::shared_ptr<exec::GpuRuntime> gpus_under_test(int devices);
// A line for everything that should have been freed, as far as that can be known.
std::vector<std::string> left_behind();

}  // namespace twinrun
