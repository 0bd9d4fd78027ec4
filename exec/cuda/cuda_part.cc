#include "exec/cuda/cuda_part.h"

#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/base/diagnostics.h"
#include "exec/check_payloads.h"

namespace twinrun::exec {
CudaPart::CudaPart(const Plan& plan, const ExecuteOptions& options, CudaSetting setting)
    : plan_(plan),
      setting_(std::move(setting)),
      homes_(plan, setting_.processes),
      here_(homes_.local_to(setting_.process)),
      machine_(plan,
               *setting_.runtime,
               device_places(plan,
                             homes_,
                             {setting_.runtime->device_count(), setting_.process,
                              setting_.processes, setting_.local_rank}),
               options.is_reproducible ? ProductLibrary::kBuiltIn : ProductLibrary::kOpenBlas),
      communicators_(plan, machine_, homes_, setting_.process) {
  refuse_distant_copies(plan, homes_);
  if (!plan.workload().is_trained()) {
    emulation_ = std::make_unique<EmulatedWork>(plan, machine_, here_);
    return;
  }
  if (const auto reason = why_not_trainable(plan)) {
    throw CannotRun(*reason);
  }
  training_ = std::make_unique<TrainingWork>(plan, machine_,
                                             training_data(plan.workload(), options), here_);
}

Outcome CudaPart::run(const RunOptions& options) {
  CudaRunOptions how = setting_.run;
  how.run = options;
  how.spread_ids = setting_.spread_ids;
  OpWork& work = training_ ? static_cast<OpWork&>(*training_) : *emulation_;
  return run_on_gpus(plan_, machine_, work, communicators_, how);
}

void CudaPart::describe(Execution& out) const {
  out.is_emulated = training_ == nullptr;
  out.library = fmt::format("cublas ({})", setting_.runtime->versions());
  std::set<std::string> asked;
  for (std::size_t i = 0; i < plan_.instance_count(); ++i) {
    const OpId first = plan_.instance_ops(id_at<InstanceId>(i)).front();
    const std::string_view name = plan_.algorithm_name(plan_.shape(first));
    if (name != "auto" && !name.starts_with("nccl")) {
      asked.emplace(name);
    }
  }
  for (const std::string& name : asked) {
    out.warnings.push_back(
        fmt::format("the algorithm \"{}\" is not asked of NCCL, which chooses its own", name));
  }
}

}  // namespace twinrun::exec
