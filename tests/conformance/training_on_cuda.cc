#include <cstdio>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "core/base/diagnostics.h"
#include "exec/cuda/device_places.h"
#include "exec/cuda/execute_on_cuda.h"
#include "exec/cuda/open_transport.h"
#include "exec/mpi/launcher.h"
#include "tests/conformance/gpus_under_test.h"
#include "tests/conformance/joined_processes.h"
#include "tests/conformance/trained_runs.h"

// The tests of training_test.cc on GPUs, those of the substitute or real ones: all of one process,
// or under mpirun some of each.

namespace {

using namespace twinrun;        // NOLINT(google-build-using-namespace): a program's own file
using namespace twinrun::exec;  // NOLINT(google-build-using-namespace)

constexpr int kDevices = 8;
constexpr int kSkipped = 77;

Post* the_post = nullptr;  // a function pointer can carry nothing

// Of processes on one machine; "" when there are enough for all of them.
std::string why_too_few(const Plan& plan, int gpus, int processes) {
  const DeviceHomes homes(plan, processes);
  try {
    for (int process = 0; process < processes; ++process) {
      device_places(plan, homes, {gpus, process, processes, process});
    }
  } catch (const CannotRun& error) {
    return error.what();
  }
  return "";
}

// The test is told as skipped, and goes on with numbers of the CPU.
bool skips(const Plan& plan, int gpus, int processes) {
  const std::string reason = why_too_few(plan, gpus, processes);
  if (!reason.empty()) {
    GTEST_MESSAGE_(reason.c_str(), testing::TestPartResult::kSkip);
  }
  return !reason.empty();
}

void expect_nothing_left() {
  for (const std::string& left : left_behind()) {
    ADD_FAILURE() << "left behind: " << left;
  }
}

Execution run_alone(const Plan& plan, const ExecuteOptions& options) {
  std::shared_ptr<GpuRuntime> gpus = gpus_under_test(kDevices);
  if (skips(plan, gpus->device_count(), 1)) {
    return find_backend("cpu")->execute(plan, options);
  }
  Execution out = execute_on_gpus(plan, options, {std::move(gpus)});
  expect_nothing_left();
  return out;
}

Execution run_with_others(const Plan& plan, const ExecuteOptions& options) {
  std::shared_ptr<GpuRuntime> gpus = gpus_under_test(kDevices);
  if (skips(plan, gpus->device_count(), the_post->size())) {
    return find_backend("cpu")->execute(plan, options);
  }
  Execution out = run_together(
      plan, *the_post, {options, nullptr, {}, cuda_part_maker(std::move(gpus), the_post->rank())});
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
  if (const std::string reason = why_no_gpus(); !reason.empty()) {
    std::printf("skipped: %s\n", reason.c_str());
    return kSkipped;
  }
  if (launched_rank()) {
    return run_in_processes();
  }
  training_runner = run_alone;
  return RUN_ALL_TESTS();
}
