#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "exec/cuda/execute_on_cuda.h"
#include "tests/conformance/trained_runs.h"
#include "tests/exec/cuda/substitute_gpus.h"
#include "tests/substitute/substitute.h"

// The tests of training_test.cc on GPUs that the substitute stands in for.

namespace {

using namespace twinrun;        // NOLINT(google-build-using-namespace): a program's own file
using namespace twinrun::exec;  // NOLINT(google-build-using-namespace)

constexpr int kDevices = 8;

Execution run_on_substitute(const Plan& plan, const ExecuteOptions& options) {
  Execution out = execute_on_gpus(plan, options, {substitute_gpus(kDevices)});
  for (const std::string& left : substitute::leaks()) {
    ADD_FAILURE() << "left behind: " << left;
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  training_runner = run_on_substitute;
  return RUN_ALL_TESTS();
}
