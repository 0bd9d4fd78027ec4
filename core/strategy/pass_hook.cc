#include "core/strategy/pass_hook.h"

#include <fmt/format.h>

#include "core/strategy/input_feed.h"
#include "core/strategy/offload_activations.h"
#include "core/strategy/offload_weights.h"

namespace twinrun {
namespace {

// Each host has all weights of its rank, and only it updates them.
bool may_offload_weights(StepBuilder& steps) {
  const Layout& layout = steps.layout();
  const char* const other = layout.shards > 1                  ? "sharded weights"
                            : layout.uses_servers              ? "weights on servers"
                            : steps.updates_each_micro_batch() ? "versions of weights"
                                                               : nullptr;
  if (other != nullptr) {
    steps.diagnostics().error("E0910", place_in(steps.job(), "/training/offload"),
                              fmt::format("offloaded weights and {} exclude each other", other),
                              "\"offload\": \"activations\" or \"none\"");
  }
  return other == nullptr;
}

}  // namespace

std::vector<std::unique_ptr<PassHook>> make_pass_hooks(StepBuilder& steps) {
  std::vector<std::unique_ptr<PassHook>> hooks;
  if (steps.job().input.given) {
    hooks.push_back(std::make_unique<InputFeed>(steps));
  }
  const Offload offload = steps.job().training.offload;
  if (offload == Offload::kNone || !HostCopies(steps).has_hosts()) {
    return hooks;
  }
  if (offload == Offload::kActivations) {
    hooks.push_back(std::make_unique<OffloadActivations>(steps));
  } else if (may_offload_weights(steps)) {
    hooks.push_back(std::make_unique<OffloadWeights>(steps));
  }
  return hooks;
}

}  // namespace twinrun
