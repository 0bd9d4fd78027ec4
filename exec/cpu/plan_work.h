#pragma once

#include <memory>

#include "core/plan/plan.h"
#include "exec/cpu/checked_work.h"
#include "exec/cpu/cpu_machine.h"
#include "exec/execute.h"
#include "exec/local_devices.h"
#include "exec/training/emulated_work.h"
#include "exec/training/training_work.h"

namespace twinrun::exec {

// What the ops of a plan do on CPUs: training for real when the plan says what they work on, else
// as much work.
class PlanWork {
 public:
  // CannotRun when only some of the ops say what they work on.
  PlanWork(const Plan& plan, const ExecuteOptions& options, const LocalDevices& here = {});

  [[nodiscard]] OpWork& ops();
  [[nodiscard]] const TrainingWork* training() const { return training_.get(); }
  // Into a result, after the run: who did the products, and what there is to say about it.
  void describe(const ExecuteOptions& options, Execution& out) const;

 private:
  CpuMachine machine_;
  std::unique_ptr<TrainingWork> training_;
  std::unique_ptr<EmulatedWork> emulation_;
  std::unique_ptr<CheckedWork> checked_;
};

}  // namespace twinrun::exec
