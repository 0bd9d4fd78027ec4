#include <memory>

#include <gtest/gtest.h>

#include "exec/mpi/mpi_transport.h"
#include "tests/conformance/joined_processes.h"

// The tests of training_test.cc in the processes of one MPI job.

namespace {

using namespace twinrun;        // NOLINT(google-build-using-namespace): a program's own file
using namespace twinrun::exec;  // NOLINT(google-build-using-namespace)

Post* the_post = nullptr;  // a function pointer can carry nothing

Execution run_with_others(const Plan& plan, const ExecuteOptions& options) {
  return run_together(plan, *the_post, {options, nullptr});
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const std::unique_ptr<Transport> transport = open_mpi();
  Post post(*transport);
  the_post = &post;
  training_runner = run_with_others;
  const int result = run_all_tests(post);
  transport->finish();
  return result;
}
