#include "core/strategy/detail/strategy_limits.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/strategy/step_builder.h"

namespace twinrun {

bool needs_one_machine(StepBuilder& steps, std::string_view strategy, std::string_view instead) {
  const Topology& topology = steps.topology();
  const std::vector<VertexId>& devices = steps.layout().devices;
  const NodeId first = topology.node_of(devices.front());
  const auto here = std::count_if(devices.begin(), devices.end(), [&](VertexId device) {
    return topology.node_of(device) == first;
  });
  if (static_cast<std::size_t>(here) == devices.size()) {
    return true;
  }
  steps.diagnostics().error(
      "E0922", place_in(steps.job(), "/parallelism/strategy"),
      fmt::format("{} runs in one machine; the {} ranks are in several", strategy, devices.size()),
      fmt::format("\"strategy\": \"{}\", or \"mapping\": {{\"ranks\": \"{}\"}} for those of {}",
                  instead, here, topology.node_name(first)));
  return false;
}

bool needs_whole_models(StepBuilder& steps, std::string_view strategy) {
  const Layout& layout = steps.layout();
  const char* const field = layout.stages > 1   ? "pipeline_parallel_degree"
                            : layout.tensor > 1 ? "tensor_parallel_degree"
                            : layout.shards > 1 ? "data_parallel_shard_degree"
                                                : nullptr;
  if (field == nullptr) {
    return true;
  }
  steps.diagnostics().error(
      "E0909", place_in(steps.job(), fmt::format("/parallelism/{}", field)),
      fmt::format("{} has the whole model on every device", strategy),
      fmt::format("\"{}\": 1, or another strategy (ddp takes all degrees)", field));
  return false;
}

void warn_of_unused_options(StepBuilder& steps, std::string_view strategy) {
  const auto warn = [&](bool is_asked, std::string_view pointer) {
    if (is_asked) {
      steps.diagnostics().warning("W0701", place_in(steps.job(), std::string(pointer)),
                                  fmt::format("{} does without: it has no effect", strategy),
                                  "\"strategy\": \"ddp\", or leave it out");
    }
  };
  warn(steps.job().input.given, "/input");
  warn(steps.job().training.offload != Offload::kNone, "/training/offload");
}

}  // namespace twinrun
