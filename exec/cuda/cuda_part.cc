#include "exec/cuda/cuda_part.h"

#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/base/diagnostics.h"
#include "core/plan/run_graph.h"
#include "exec/check_payloads.h"

namespace twinrun::exec {
namespace {

bool exchanges_short_types(const Plan& plan) {
  for (std::size_t i = 0; i < plan.instance_count(); ++i) {
    const OpId first = plan.instance_ops(id_at<InstanceId>(i)).front();
    if (stored_bytes(plan.shape(first).dtype) < stored_bytes(Dtype::kFp32)) {
      return true;
    }
  }
  return false;
}

}  // namespace

CudaPart::CudaPart(const Plan& plan, const ExecuteOptions& options, CudaSetting setting)
    : plan_(plan),
      wants_estimates_(options.estimates_collectives),
      wants_kernels_(options.collects_kernels),
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
  if (options.checks_exchanges) {
    checked_ = std::make_unique<CheckedExchanges>(plan, machine_, here_);
    return;
  }
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

OpWork& CudaPart::work() {
  return training_  ? static_cast<OpWork&>(*training_)
         : checked_ ? static_cast<OpWork&>(*checked_)
                    : *emulation_;
}

Outcome CudaPart::run(const RunOptions& options) {
  CudaRunOptions how = setting_.run;
  how.run = options;
  how.spread_ids = setting_.spread_ids;
  how.estimates = wants_estimates_ ? &estimates_ : nullptr;
  GpuRuntime& runtime = *setting_.runtime;
  if (wants_estimates_ && !runtime.has_estimates()) {
    warnings_.emplace_back("NCCL predicts times since version 2.22: there are no estimates");
  }
  const std::string problem = wants_kernels_ ? runtime.collect_kernels() : "";
  if (!problem.empty()) {
    warnings_.push_back("kernels are not recorded: " + problem);
  }
  Outcome outcome = run_on_gpus(plan_, machine_, work(), communicators_, how);
  if (wants_kernels_ && !outcome.left_threads) {
    const RunGraph graph(plan_);
    for (const GpuKernelRecord& record : runtime.take_kernels()) {
      kernels_.push_back(kernel_run(record, outcome.begin, graph));
    }
  }
  return outcome;
}

// What a collective enqueues is told of one op of all that are here: it belongs to the one whose
// device it ran on.
KernelRun CudaPart::kernel_run(const GpuKernelRecord& record,
                               std::chrono::steady_clock::time_point begin,
                               const RunGraph& graph) const {
  const std::int64_t zero =
      std::chrono::duration_cast<std::chrono::nanoseconds>(begin.time_since_epoch()).count();
  const auto told = id_at<OpId>(record.op);
  KernelRun out{record.kernel, told, Time{(record.begin_ns - zero) * 1000},
                Time{(record.end_ns - zero) * 1000}};
  graph.for_each_op(graph.node(told), [&](OpId op) {
    if (machine_.place_of(op).is_here && machine_.place_of(op).gpu == record.device) {
      out.op = op;
    }
  });
  return out;
}

void CudaPart::describe(Execution& out) const {
  out.is_emulated = training_ == nullptr;
  if (checked_) {
    out.wrong_elements = checked_->wrong();
  }
  out.estimates = estimates_;
  out.kernels = kernels_;
  out.warnings = warnings_;
  out.library = fmt::format("cublas ({})", setting_.runtime->versions());
  std::set<std::string> asked;
  for (std::size_t i = 0; i < plan_.instance_count(); ++i) {
    const OpId first = plan_.instance_ops(id_at<InstanceId>(i)).front();
    const std::string_view name = plan_.algorithm_name(plan_.shape(first));
    if (name != "auto" && !name.starts_with("nccl")) {
      asked.emplace(name);
    }
  }
  if (training_ && exchanges_short_types(plan_)) {
    out.warnings.emplace_back(
        "arrays are exchanged in fp32: twice the bytes that the plan counts for its dtype");
  }
  for (const std::string& name : asked) {
    out.warnings.push_back(
        fmt::format("the algorithm \"{}\" is not asked of NCCL, which chooses its own", name));
  }
}

}  // namespace twinrun::exec
