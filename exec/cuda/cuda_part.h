#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "core/plan/run_graph.h"
#include "exec/cuda/checked_exchanges.h"
#include "exec/cuda/communicators.h"
#include "exec/cuda/cuda_run.h"
#include "exec/cuda/device_places.h"
#include "exec/cuda/gpu_machine.h"
#include "exec/cuda/gpu_runtime.h"
#include "exec/execute.h"
#include "exec/mpi/part_machine.h"
#include "exec/training/emulated_work.h"
#include "exec/training/training_work.h"

namespace twinrun::exec {

// Which part of a plan, and on which GPUs.
struct CudaSetting {
  std::shared_ptr<GpuRuntime> runtime;
  int process = 0;
  int processes = 1;
  int local_rank = 0;                        // of the process, on its machine
  Communicators::SpreadIds spread_ids = {};  // with other processes
  CudaRunOptions run = {};                   // what tests change of it
};

// A process's GPUs, and what they need to run its part of a plan.
class CudaPart : public PartMachine {
 public:
  // CannotRun when it cannot be done.
  CudaPart(const Plan& plan, const ExecuteOptions& options, CudaSetting setting);

  Outcome run(const RunOptions& options) override;
  void describe(Execution& out) const override;
  [[nodiscard]] const TrainingWork* training() const override { return training_.get(); }

 private:
  [[nodiscard]] OpWork& work();
  [[nodiscard]] KernelRun kernel_run(const GpuKernelRecord& record,
                                     std::chrono::steady_clock::time_point begin,
                                     const RunGraph& graph) const;

  const Plan& plan_;
  const bool wants_estimates_;
  const bool wants_kernels_;
  CudaSetting setting_;
  DeviceHomes homes_;
  LocalDevices here_;
  GpuMachine machine_;
  std::unique_ptr<TrainingWork> training_;
  std::unique_ptr<EmulatedWork> emulation_;
  std::unique_ptr<CheckedExchanges> checked_;
  Communicators communicators_;
  std::vector<CollectiveEstimate> estimates_;
  std::vector<KernelRun> kernels_;
  std::vector<std::string> warnings_;
};

}  // namespace twinrun::exec
