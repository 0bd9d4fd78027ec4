#include "exec/cpu/plan_work.h"

#include "core/base/diagnostics.h"
#include "exec/check_payloads.h"

namespace twinrun::exec {

PlanWork::PlanWork(const Plan& plan, const ExecuteOptions& options, const LocalDevices& here)
    : machine_(plan,
               options.is_reproducible ? ProductLibrary::kBuiltIn : ProductLibrary::kOpenBlas) {
  if (options.checks_exchanges) {
    checked_ = std::make_unique<CheckedWork>(plan, here);
    return;
  }
  if (!plan.workload().is_trained()) {
    emulation_ = std::make_unique<EmulatedWork>(plan, machine_, here);
    return;
  }
  if (const auto reason = why_not_trainable(plan)) {
    throw CannotRun(*reason);
  }
  training_ =
      std::make_unique<TrainingWork>(plan, machine_, training_data(plan.workload(), options), here);
}

OpWork& PlanWork::ops() {
  return training_  ? static_cast<OpWork&>(*training_)
         : checked_ ? static_cast<OpWork&>(*checked_)
                    : *emulation_;
}

void PlanWork::describe(const ExecuteOptions& options, Execution& out) const {
  out.is_emulated = training_ == nullptr;
  const Products& products = machine_.products();
  out.library = products.name();
  if (checked_) {
    out.wrong_elements = checked_->wrong();
  }
  if (!products.warning().empty() && !options.is_reproducible) {
    out.warnings.push_back(products.warning());
  }
}

}  // namespace twinrun::exec
