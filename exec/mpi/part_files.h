#pragma once

#include <optional>
#include <string>

#include "core/plan/plan.h"
#include "exec/mpi/part.h"

namespace twinrun::exec {

// The folder through which processes that mpirun started hand their parts to the one that started
// mpirun: live.N (exec/mpi/live_table.h), part.N when process N is done, and stop, which asks them
// to end.

void write_part(const std::string& folder, int rank, const Part& part);
// Nothing when it is not there yet.
std::optional<Part> read_part(const std::string& folder, int rank);
// What a process that died has left, empty when it left nothing.
Part read_remains(const std::string& folder, int rank, const Plan& plan);

void ask_to_stop(const std::string& folder);
bool is_asked_to_stop(const std::string& folder);

}  // namespace twinrun::exec
