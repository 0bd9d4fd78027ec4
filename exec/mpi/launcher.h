#pragma once

#include <optional>
#include <string>

namespace twinrun::exec {

// What the environment says of a launcher (mpirun, srun) that started this process and others.
struct LaunchedRank {
  int rank = 0;
  int size = 1;
};

// Nothing when there is none, or it started this process alone.
std::optional<LaunchedRank> launched_rank();

// Names of environment variables between a twinrun that starts mpirun and those that it starts.
inline constexpr const char* kFolderVariable = "TWINRUN_MPI_FOLDER";  // where parts are written
inline constexpr const char* kSharedVariable =
    "TWINRUN_MPI_SHARED";  // where Open MPI shares memory

// "" when it is not set.
std::string environment(const char* name);

}  // namespace twinrun::exec
