#include "exec/cpu/execute_on_cpu.h"

#include <memory>
#include <utility>

#include "core/base/diagnostics.h"
#include "exec/check_payloads.h"
#include "exec/cpu/cpu_backend.h"
#include "exec/cpu/emulated_work.h"
#include "exec/cpu/training_work.h"

namespace twinrun::exec {
namespace {

TrainingData data_of(const Plan& plan, const ExecuteOptions& options) {
  if (options.dataset != nullptr) {
    return {plan.workload(), *options.dataset, options.seed};
  }
  return {plan.workload(), options.uses_integers ? DataKind::kIntegers : DataKind::kClusters,
          options.seed};
}

// All that the threads of a run use.
struct Machine {
  Machine(const Plan& plan, const ExecuteOptions& options)
      : products(options.is_reproducible ? ProductLibrary::kBuiltIn : ProductLibrary::kOpenBlas) {
    if (plan.workload().is_trained()) {
      training = std::make_unique<TrainingWork>(plan, products, data_of(plan, options));
    } else {
      emulation = std::make_unique<EmulatedWork>(plan, products);
    }
    OpWork& work = training ? static_cast<OpWork&>(*training) : *emulation;
    backend = std::make_unique<CpuBackend>(plan, work);
  }

  Products products;
  std::unique_ptr<TrainingWork> training;
  std::unique_ptr<EmulatedWork> emulation;
  std::unique_ptr<CpuBackend> backend;
};

// Beside what the runner tells: the newest step and its loss.
RunOptions with_step_reports(const ExecuteOptions& options, const TrainingWork* training) {
  RunOptions out = options.run;
  if (training == nullptr || !options.on_step) {
    return out;
  }
  out.progress = [&options, training](std::size_t done, std::size_t of) {
    if (const std::int64_t step = training->newest_step(); step >= 0) {
      options.on_step({step, training->loss_of_step(step)});
    }
    if (options.run.progress) {
      options.run.progress(done, of);
    }
  };
  return out;
}

}  // namespace

Execution execute_on_cpu(const Plan& plan, const ExecuteOptions& options) {
  if (plan.workload().is_trained()) {
    if (const auto reason = why_not_trainable(plan)) {
      throw CannotRun(*reason);
    }
  }
  auto machine = std::make_unique<Machine>(plan, options);
  Execution out;
  out.outcome =
      run_plan(plan, *machine->backend, with_step_reports(options, machine->training.get()));
  out.is_emulated = machine->training == nullptr;
  out.library = machine->products.name();
  if (!machine->products.warning().empty() && !options.is_reproducible) {
    out.warnings.push_back(machine->products.warning());
  }
  if (machine->training && !out.outcome.failure) {
    out.losses = machine->training->losses();
    out.weights = machine->training->weights();
    out.replica_disagreement = machine->training->largest_disagreement();
  }
  if (out.outcome.left_threads) {
    static_cast<void>(machine.release());  // they still use it
  }
  return out;
}

}  // namespace twinrun::exec
