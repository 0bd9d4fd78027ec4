#include "exec/backends.h"

#include <array>

#include "exec/cpu/execute_on_cpu.h"
#include "exec/cuda/execute_on_cuda.h"
#include "exec/mpi/execute_on_mpi.h"

namespace twinrun::exec {
namespace {

constexpr std::array kBackends = {
    BackendRow{"cpu", "threads of this process: runs anywhere", execute_on_cpu},
    BackendRow{"mpi", "processes on one host or many", execute_on_mpi},
    BackendRow{"cuda", "NVIDIA GPUs, in one process or one for each", execute_on_cuda},
};

}  // namespace

std::span<const BackendRow> all_backends() { return kBackends; }

const BackendRow* find_backend(std::string_view name) {
  for (const BackendRow& row : kBackends) {
    if (row.name == name) {
      return &row;
    }
  }
  return nullptr;
}

}  // namespace twinrun::exec
