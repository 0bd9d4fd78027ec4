#include "core/strategy/pipedream.h"

#include <fmt/format.h>

#include "core/strategy/bucketed_all_reduce.h"
#include "core/strategy/detail/builders.h"
#include "core/strategy/optimizer_state.h"
#include "core/strategy/step_builder.h"

namespace twinrun {
namespace {

bool is_possible(StepBuilder& steps) {
  const Layout& layout = steps.layout();
  if (layout.virtual_stages > 1) {
    steps.diagnostics().error(
        "E0909", place_in(steps.job(), "/parallelism/virtual_stages"),
        fmt::format("pipedream has one chunk a stage, not {}", layout.virtual_stages),
        "virtual_stages 1, or interleaved_1f1b");
  }
  if (layout.shards > 1) {
    steps.diagnostics().error("E0909",
                              place_in(steps.job(), "/parallelism/data_parallel_shard_degree"),
                              "pipedream keeps versions of whole weights: they cannot be sharded",
                              "data_parallel_replicate_degree instead, or 1f1b");
  }
  return layout.virtual_stages == 1 && layout.shards == 1;
}

void hold_versions(StepBuilder& steps) {
  const StateBytes state = state_bytes(steps.job().training.dtype, steps.job().training.optimizer);
  for (std::size_t rank = 0; rank < steps.layout().ranks(); ++rank) {
    const RankStep at = steps.at(rank, 0);
    const std::int64_t more = pipedream_versions(steps.layout().stages, at.stage) - 1;
    steps.hold(rank, MemoryPart::kVersions, {more * steps.parameters_on(at) * state.weight});
  }
}

}  // namespace

std::vector<StageAction> pipedream_schedule(const ScheduleShape& shape, std::int64_t stage) {
  const std::int64_t passes = shape.micro_batches * shape.steps;
  const std::int64_t ahead = std::min(passes, shape.stages - 1 - stage);
  std::vector<StageAction> out;
  const auto forward = [&](std::int64_t i) {
    out.push_back(
        {ActionKind::kForward, i / shape.micro_batches, 0, i % shape.micro_batches, false});
  };
  for (std::int64_t i = 0; i < ahead; ++i) {
    forward(i);
  }
  for (std::int64_t i = 0; i < passes; ++i) {
    if (i + ahead < passes) {
      forward(i + ahead);
    }
    const std::int64_t step = i / shape.micro_batches;
    const std::int64_t micro = i % shape.micro_batches;
    out.push_back({ActionKind::kBackward, step, 0, micro, true});
    out.push_back({ActionKind::kUpdate, step, 0, micro, false});
  }
  return out;
}

std::int64_t pipedream_staleness(std::int64_t stages, std::int64_t stage) {
  return stages - 1 - stage;
}

std::int64_t pipedream_versions(std::int64_t stages, std::int64_t stage) { return stages - stage; }

// The first step fills the pipeline.
void build_pipedream(StepBuilder& steps) {
  if (!is_possible(steps)) {
    return;
  }
  steps.update_each_micro_batch();
  steps.set_warmup_steps(steps.steps() > 1 && steps.layout().stages > 1 ? 1 : 0);
  hold_versions(steps);
  BucketedAllReduce sync(steps, false);
  steps.run(pipedream_schedule, sync);
}

}  // namespace twinrun
