#include "exec/cpu/plan_work.h"

#include "core/base/diagnostics.h"
#include "exec/check_payloads.h"

namespace twinrun::exec {
namespace {

TrainingData data_of(const Plan& plan, const ExecuteOptions& options) {
  if (options.dataset != nullptr) {
    return {plan.workload(), *options.dataset, options.seed};
  }
  return {plan.workload(), options.uses_integers ? DataKind::kIntegers : DataKind::kClusters,
          options.seed};
}

}  // namespace

PlanWork::PlanWork(const Plan& plan, const ExecuteOptions& options, const LocalDevices& here)
    : products_(options.is_reproducible ? ProductLibrary::kBuiltIn : ProductLibrary::kOpenBlas) {
  if (options.checks_exchanges) {
    checked_ = std::make_unique<CheckedWork>(plan, here);
    return;
  }
  if (!plan.workload().is_trained()) {
    emulation_ = std::make_unique<EmulatedWork>(plan, products_, here);
    return;
  }
  if (const auto reason = why_not_trainable(plan)) {
    throw CannotRun(*reason);
  }
  training_ = std::make_unique<TrainingWork>(plan, products_, data_of(plan, options), here);
}

OpWork& PlanWork::ops() {
  return training_  ? static_cast<OpWork&>(*training_)
         : checked_ ? static_cast<OpWork&>(*checked_)
                    : *emulation_;
}

void PlanWork::describe(const ExecuteOptions& options, Execution& out) const {
  out.is_emulated = training_ == nullptr;
  out.library = products_.name();
  if (checked_) {
    out.wrong_elements = checked_->wrong();
  }
  if (!products_.warning().empty() && !options.is_reproducible) {
    out.warnings.push_back(products_.warning());
  }
}

}  // namespace twinrun::exec
