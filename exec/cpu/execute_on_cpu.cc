#include "exec/cpu/execute_on_cpu.h"

#include <memory>
#include <utility>
#include <vector>

#include "exec/cpu/cpu_backend.h"
#include "exec/cpu/plan_work.h"
#include "exec/left_behind.h"
#include "exec/training/final_weights.h"
#include "exec/training/step_reports.h"

namespace twinrun::exec {
namespace {

// All that the threads of a run use.
struct Machine {
  Machine(const Plan& plan, const ExecuteOptions& options)
      : work(plan, options), backend(plan, work.ops()) {}

  PlanWork work;
  CpuBackend backend;
};

}  // namespace

Execution execute_on_cpu(const Plan& plan, const ExecuteOptions& options) {
  auto machine = std::make_unique<Machine>(plan, options);
  Execution out;
  out.outcome =
      run_plan(plan, machine->backend, with_step_reports(options, machine->work.training()));
  machine->work.describe(options, out);
  if (const TrainingWork* const training = machine->work.training();
      training != nullptr && !out.outcome.failure) {
    const std::vector<UpdatedWeights> updated = training->updated_weights();
    out.losses = mean_losses(plan.workload(), training->loss_of_samples());
    out.weights = whole_model(plan.workload(), updated);
    out.replica_disagreement = largest_disagreement(plan.workload(), updated);
  }
  if (out.outcome.left_threads) {
    leave_behind(std::move(machine));  // they still use it
  }
  return out;
}

}  // namespace twinrun::exec
