#pragma once

#include <functional>
#include <memory>

#include "core/plan/plan.h"
#include "exec/execute.h"
#include "exec/mpi/device_homes.h"
#include "exec/mpi/post.h"
#include "exec/training/training_work.h"

namespace twinrun::exec {

// What a process runs its part of a plan with, and all that its threads use. Made by all processes
// together.
class PartMachine {
 public:
  PartMachine() = default;
  PartMachine(const PartMachine&) = delete;
  PartMachine& operator=(const PartMachine&) = delete;
  virtual ~PartMachine() = default;

  virtual Outcome run(const RunOptions& options) = 0;
  // Into a result: who did the products, and what there is to say about it.
  virtual void describe(Execution& out) const = 0;
  [[nodiscard]] virtual const TrainingWork* training() const = 0;  // null when it is emulated
};

// CannotRun or BackendMissing when it cannot be done.
using MakePartMachine = std::function<std::unique_ptr<PartMachine>(
    const Plan& plan, const ExecuteOptions& options, const DeviceHomes& homes, Post& post)>;

// Threads of a CPU, and messages through the post.
std::unique_ptr<PartMachine> make_cpu_part(const Plan& plan,
                                           const ExecuteOptions& options,
                                           const DeviceHomes& homes,
                                           Post& post);

}  // namespace twinrun::exec
