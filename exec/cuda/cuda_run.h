#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "core/plan/plan.h"
#include "exec/cuda/communicators.h"
#include "exec/cuda/gpu_machine.h"
#include "exec/execute.h"
#include "exec/runner.h"
#include "exec/training/op_work.h"

namespace twinrun::exec {

struct CudaRunOptions {
  RunOptions run;
  Communicators::SpreadIds spread_ids;  // with other processes
  // Ops that are enqueued and not done, at most: memory for events is not without end.
  std::size_t most_in_flight = 8192;
  std::vector<CollectiveEstimate>* estimates = nullptr;  // where NCCL's go, if anybody wants them
  // ---- of tests
  std::function<Time()> host_clock;                                 // instead of the steady one
  std::function<void(OpId op, const GpuStream& stream)> op_begins;  // what follows is the op's
  std::function<void(OpId op, const GpuStream& stream)> op_ends;
};

// Walks the plan: one thread enqueues every op that is here on the CUDA stream of its stream, in an
// order that all processes share, and looks when ops are done; the caller's thread watches for
// progress and trouble. Streams wait for each other by events, as far as nothing else orders them.
// Whatever goes wrong, communicators are aborted and the caller has the failure; when the streams
// or the thread do not come back, left_threads is set and nothing may be destroyed.
Outcome run_on_gpus(const Plan& plan,
                    GpuMachine& machine,
                    OpWork& work,
                    Communicators& communicators,
                    const CudaRunOptions& options);

}  // namespace twinrun::exec
