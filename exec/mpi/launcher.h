#pragma once

#include <optional>
#include <string>

namespace twinrun::exec {

// What the environment says of a launcher (mpirun, srun) that started this process and others.
struct LaunchedRank {
  int rank = 0;
  int size = 1;
  int local = 0;  // which of those on its machine
};

// Nothing when there is none, or it started this process alone.
std::optional<LaunchedRank> launched_rank();

// More processes than cores on this host, so that whoever waits had better let others run.
bool has_more_processes_than_cores();

// Names of environment variables between a twinrun that starts mpirun and those that it starts.
inline constexpr const char* kFolderVariable = "TWINRUN_MPI_FOLDER";  // where parts are written
inline constexpr const char* kSharedVariable =
    "TWINRUN_MPI_SHARED";  // where Open MPI shares memory

inline constexpr const char* kParentVariable = "TWINRUN_MPI_PARENT";  // who started mpirun

// This process, by a name that no other process of any host has.
std::string name_of_this_process();
// The process of that name is of this host, and has ended.
bool has_ended_here(const std::string& process);

// "" when it is not set.
std::string environment(const char* name);

}  // namespace twinrun::exec
