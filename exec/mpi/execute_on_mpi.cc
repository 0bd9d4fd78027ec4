#include "exec/mpi/execute_on_mpi.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "exec/backend_missing.h"
#include "exec/mpi/join_launched.h"
#include "exec/mpi/joined_run.h"
#include "exec/mpi/launched_run.h"
#include "exec/mpi/launcher.h"
#include "exec/mpi/live_table.h"
#include "exec/mpi/mpi_transport.h"
#include "exec/mpi/part_files.h"
#include "exec/mpi/part_run.h"

namespace twinrun::exec {
namespace {

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

}  // namespace

std::string why_mpi_is_missing() {
  return find_mpi_plugin().empty() ? "this twinrun was built without MPI" : "";
}

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
    return run_joined(plan, {options, nullptr}, join_launched(*launched, options.run.timeout_s),
                      launched->size);
  }
  if (const std::string reason = why_mpi_is_missing(); !reason.empty()) {
    throw BackendMissing(reason);
  }
  return launch_and_watch(plan, options);
}

}  // namespace twinrun::exec
