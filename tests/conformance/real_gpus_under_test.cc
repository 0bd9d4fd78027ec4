#include "exec/cuda/execute_on_cuda.h"
#include "exec/cuda/open_gpus.h"
#include "tests/conformance/gpus_under_test.h"

namespace twinrun {

std::string why_no_gpus() { return exec::why_cuda_is_missing(); }

std::shared_ptr<exec::GpuRuntime> gpus_under_test(int /*devices*/) { return exec::open_gpus(); }

std::vector<std::string> left_behind() { return {}; }

}  // namespace twinrun
