#include "tests/conformance/gpus_under_test.h"
#include "tests/exec/cuda/substitute_gpus.h"
#include "tests/substitute/substitute.h"

namespace twinrun {

std::string why_no_gpus() { return ""; }

std::shared_ptr<exec::GpuRuntime> gpus_under_test(int devices) {
  return exec::substitute_gpus(devices);
}

std::vector<std::string> left_behind() { return substitute::leaks(); }

}  // namespace twinrun
