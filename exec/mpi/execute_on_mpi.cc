#include "exec/mpi/execute_on_mpi.h"

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "exec/backend_missing.h"
#include "exec/mpi/launched_run.h"
#include "exec/mpi/launcher.h"
#include "exec/mpi/live_table.h"
#include "exec/mpi/mpi_transport.h"
#include "exec/mpi/part_files.h"
#include "exec/mpi/part_run.h"

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

// After a failure MPI can no longer be left in order: whoever started the processes ends them.
[[noreturn]] void wait_to_be_ended() {
  const std::string parent = environment(kParentVariable);
  const auto until = std::chrono::steady_clock::now() + kToBeEnded;
  while (std::chrono::steady_clock::now() < until) {
    clean_up_after(parent);
    std::this_thread::sleep_for(kLookAgain);
  }
  ::_exit(1);
}

Part refused(const BackendMissing& error) {
  Part part;
  part.is_whole = true;
  part.refusal = error.what();
  part.is_missing = true;
  return part;
}

// Started by a twinrun that waits for the parts in a folder.
Execution run_for_parent(const Plan& plan,
                         const ExecuteOptions& options,
                         const std::string& folder,
                         int rank) {
  const LiveTable live = LiveTable::create(folder, rank, plan.size());
  try {
    const std::unique_ptr<Transport> transport = open_mpi();
    Post post(*transport);
    const Part part =
        run_part(plan, post, {options, &live, [&] { return is_asked_to_stop(folder); }});
    write_part(folder, rank, part);
    if (part.failure) {
      wait_to_be_ended();
    }
    transport->finish();
  } catch (const BackendMissing& error) {
    write_part(folder, rank, refused(error));
  }
  Execution out;
  out.is_told_elsewhere = true;
  return out;
}

// Started by mpirun or srun alone: the first process has the result.
Execution run_under_launcher(const Plan& plan,
                             const ExecuteOptions& options,
                             const LaunchedRank& launched) {
  std::shared_ptr<Transport> transport = open_mpi();  // shared with `leave`, which may be copied
  if (transport->size() != launched.size) {
    throw BackendMissing(
        fmt::format("the launcher started {} processes, and MPI knows of {}: it is another MPI's",
                    launched.size, transport->size()));
  }
  Post post(*transport);
  Execution out;
  try {
    out = execute_together(plan, post, {options, nullptr, {}});
  } catch (const std::exception&) {  // a refusal: all have it, and end in order
    transport->finish();
    throw;
  }
  if (!out.outcome.failure) {
    transport->finish();
  } else if (out.is_told_elsewhere) {
    wait_to_be_ended();
  } else {
    out.leave = [transport](int exit_code) {
      transport->abort(exit_code);
      ::_exit(exit_code);
    };
  }
  return out;
}

}  // namespace

Execution execute_on_mpi(const Plan& plan, const ExecuteOptions& options) {
  const std::optional<LaunchedRank> launched = launched_rank();
  const std::string folder = environment(kFolderVariable);
  if (launched && !folder.empty()) {
    const std::string shared = environment(kSharedVariable);
    if (!shared.empty()) {
      std::filesystem::create_directories(shared);  // another host than the parent's
    }
    return run_for_parent(plan, options, folder, launched->rank);
  }
  if (launched) {
    return run_under_launcher(plan, options, *launched);
  }
  if (find_mpi_plugin().empty()) {
    throw BackendMissing("this twinrun was built without MPI");
  }
  return launch_and_watch(plan, options);
}

}  // namespace twinrun::exec
