#include "tests/exec/cuda/substitute_gpus.h"

#include <cstdlib>

#include "exec/cuda/open_gpus.h"
#include "tests/substitute/substitute.h"

namespace twinrun::exec {

std::shared_ptr<GpuRuntime> substitute_gpus(int devices) {
  setenv("TWINRUN_CUDA_PLUGIN", TWINRUN_SUBSTITUTE_PLUGIN, 1);
  substitute::reset();
  substitute::set_device_count(devices);
  return open_gpus();
}

}  // namespace twinrun::exec
