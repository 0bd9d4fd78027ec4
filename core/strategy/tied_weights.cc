#include "core/strategy/tied_weights.h"

#include <fmt/format.h>

#include "core/strategy/step_builder.h"

namespace twinrun {
namespace {

std::int64_t stage_of_layer(const Model& model,
                            std::span<const ChunkRange> parts,
                            std::int64_t stages,
                            std::size_t layer) {
  std::size_t part = 0;
  while (part + 1 < parts.size() && model.blocks[parts[part].end].first_layer <= layer) {
    ++part;
  }
  return static_cast<std::int64_t>(part) % stages;
}

}  // namespace

void copy_tied_weights(const Model& model,
                       std::span<const ChunkRange> parts,
                       std::int64_t stages,
                       std::vector<LayerWork>& work) {
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const auto& tied_to = model.layers[i].tied_to;
    if (!tied_to) {
      continue;
    }
    const bool is_apart =
        stage_of_layer(model, parts, stages, i) != stage_of_layer(model, parts, stages, *tied_to);
    work[i].tensors =
        is_apart ? std::vector{work[*tied_to].tensors.front()} : std::vector<std::int64_t>();
  }
}

std::vector<OpId> sum_tied_gradients(StepBuilder& steps,
                                     const RankStep& at,
                                     std::int64_t shares,
                                     const std::vector<OpId>& after) {
  const Layout& layout = steps.layout();
  const Model& model = steps.model();
  std::vector<OpId> sums;
  for (std::size_t i = 0; i < model.layers.size() && layout.stages > 1; ++i) {
    if (!model.layers[i].tied_to || steps.work()[i].tensors.empty()) {
      continue;
    }
    const auto stage = [&](std::size_t layer) {
      return stage_of_layer(model, steps.parts(), layout.stages, layer);
    };
    const std::int64_t first = stage(*model.layers[i].tied_to);
    const std::int64_t second = stage(i);
    if (at.stage != first && at.stage != second) {
      continue;
    }
    const std::string name =
        fmt::format("tied-{}-r{}t{}", model.layers[i].name, at.replica, at.tensor);
    const std::vector<DeviceId> members = {
        steps.device(layout.rank(at.replica, first, at.tensor)),
        steps.device(layout.rank(at.replica, second, at.tensor))};
    const std::int64_t elements = (steps.work()[i].tensors.front() + shares - 1) / shares;
    const OpId sum = steps.plan().add_collective(
        steps.id(at, "all_reduce/" + name), steps.stream(at.rank, "tied"),
        {.kind = CollectiveKind::kAllReduce,
         .group = steps.plan().add_group(name, members),
         .bytes = {elements * stored_bytes(steps.job().training.dtype)},
         .algorithm = "auto",
         .dtype = steps.job().training.dtype});
    for (const OpId op : after) {
      steps.plan().depend(sum, op);
    }
    sums.push_back(sum);
  }
  return sums;
}

}  // namespace twinrun
