#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "exec/tcp/torchrun.h"

namespace twinrun::exec {

// What the environment says of a launcher (mpirun, srun, torchrun) that started this process and
// others.
struct LaunchedRank {
  int rank = 0;
  int size = 1;
  int local = 0;                         // which of those on its machine
  std::optional<TorchrunLaunch> by_tcp;  // they meet over TCP, not MPI
};

// Nothing when there is none, or it started this process alone. Of several, torchrun is the
// innermost, since mpirun and srun start it and not the other way round; its variables without it
// (people set them by hand) count last. InputError when they make no sense.
std::optional<LaunchedRank> launched_rank();

// Whether there is a core of this host for each thread, if all processes here have as many.
bool has_core_for_each(std::size_t threads_of_this_process);

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
