#include <memory>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "exec/cuda/execute_on_cuda.h"
#include "exec/cuda/open_transport.h"
#include "exec/mpi/launcher.h"
#include "tests/conformance/joined_processes.h"
#include "tests/conformance/trained_runs.h"
#include "tests/exec/cuda/substitute_gpus.h"
#include "tests/substitute/substitute.h"

// The tests of training_test.cc on GPUs that the substitute stands in for: all of one process, or
// under mpirun some of each.

namespace {

using namespace twinrun;        // NOLINT(google-build-using-namespace): a program's own file
using namespace twinrun::exec;  // NOLINT(google-build-using-namespace)

constexpr int kDevices = 8;

Post* the_post = nullptr;  // a function pointer can carry nothing

void expect_nothing_left() {
  for (const std::string& left : substitute::leaks()) {
    ADD_FAILURE() << "left behind: " << left;
  }
}

Execution run_alone(const Plan& plan, const ExecuteOptions& options) {
  Execution out = execute_on_gpus(plan, options, {substitute_gpus(kDevices)});
  expect_nothing_left();
  return out;
}

Execution run_with_others(const Plan& plan, const ExecuteOptions& options) {
  Execution out = run_together(
      plan, *the_post,
      {options, nullptr, {}, cuda_part_maker(substitute_gpus(kDevices), the_post->rank())});
  expect_nothing_left();
  return out;
}

int run_in_processes() {
  const std::unique_ptr<Transport> transport = open_transport();
  Post post(*transport);
  the_post = &post;
  training_runner = run_with_others;
  const int result = run_all_tests(post);
  transport->finish();
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (launched_rank()) {
    return run_in_processes();
  }
  training_runner = run_alone;
  return RUN_ALL_TESTS();
}
