#include "exec/mpi/joined_run.h"

#include <chrono>
#include <exception>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "exec/backend_missing.h"
#include "exec/mpi/launcher.h"

namespace twinrun::exec {
namespace {

constexpr auto kToBeEnded = std::chrono::seconds(10);

constexpr auto kLookAgain = std::chrono::milliseconds(20);

// Nobody else removes the folders of a run when the process that made them has been killed.
void clean_up_after(const std::string& parent) {
  if (!parent.empty() && has_ended_here(parent)) {
    std::error_code error;
    std::filesystem::remove_all(environment(kFolderVariable), error);
    std::filesystem::remove_all(environment(kSharedVariable), error);
  }
}

}  // namespace

void wait_to_be_ended() {
  const std::string parent = environment(kParentVariable);
  const auto until = std::chrono::steady_clock::now() + kToBeEnded;
  while (std::chrono::steady_clock::now() < until) {
    clean_up_after(parent);
    std::this_thread::sleep_for(kLookAgain);
  }
  ::_exit(1);
}

// The transport is shared with `leave`, which may be copied.
Execution run_joined(const Plan& plan,
                     const PartOptions& options,
                     std::shared_ptr<Transport> transport,
                     int launched) {
  if (transport->size() != launched) {
    throw BackendMissing(
        fmt::format("the launcher started {} processes, and MPI knows of {}: it is another MPI's",
                    launched, transport->size()));
  }
  Post post(*transport);
  Execution out;
  try {
    out = execute_together(plan, post, options);
  } catch (const std::exception&) {  // a refusal: all have it, and end in order
    transport->finish();
    throw;
  }
  if (!out.outcome.failure) {
    transport->finish();
  } else if (out.is_told_elsewhere) {
    wait_to_be_ended();
  } else {
    out.leave = [transport = std::move(transport)](int exit_code) {
      transport->abort(exit_code);
      ::_exit(exit_code);
    };
  }
  return out;
}

}  // namespace twinrun::exec
