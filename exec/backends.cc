#include "exec/backends.h"

#include <algorithm>
#include <array>
#include <thread>

#include "exec/cpu/execute_on_cpu.h"
#include "exec/cuda/execute_on_cuda.h"
#include "exec/mpi/execute_on_mpi.h"

namespace twinrun::exec {
namespace {

std::string why_cpu_is_missing() { return ""; }

// At least two: one has nobody to exchange with.
int core_count() { return static_cast<int>(std::max(2U, std::thread::hardware_concurrency())); }

constexpr std::array kBackends = {
    BackendRow{"cpu", "threads of this process: runs anywhere", execute_on_cpu, why_cpu_is_missing,
               core_count},
    BackendRow{"mpi", "processes on one host or many", execute_on_mpi, why_mpi_is_missing,
               core_count},
    BackendRow{"cuda", "NVIDIA GPUs, in one process or one for each", execute_on_cuda,
               why_cuda_is_missing, gpu_count},
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
