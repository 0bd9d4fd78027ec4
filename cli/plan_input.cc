#include "cli/plan_input.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "cli/progress.h"
#include "cli/topology_input.h"
#include "core/io/load_plan.h"
#include "core/plan/validate.h"

namespace twinrun::cli {

void add_plan_options(CLI::App& app, PlanOptions& options) {
  app.add_option("plan", options.plan, "a plan file, or - for standard input")
      ->required()
      ->type_name("FILE");
  app.add_option("--topology", options.topology, "check that its devices exist there")
      ->type_name("TOPOLOGY");
}

Plan load_plan(Context& context, const Source& source, const Topology* topology) {
  std::function<bool(std::string_view)> device_exists;
  if (topology != nullptr) {
    device_exists = [&](std::string_view name) { return topology->find(name).has_value(); };
  }
  Diagnostics diagnostics;
  Progress progress(context, "reading " + source.name());
  const Source watched =
      source.watched([&](std::int64_t done, std::int64_t total) { progress.update(done, total); });
  std::optional<Plan> plan = load_valid_plan(watched, device_exists, diagnostics);
  diagnostics.throw_if_errors();
  context.report(diagnostics);
  return *std::move(plan);
}

Plan load_plan(Context& context, const PlanOptions& options) {
  std::optional<Topology> topology;
  if (!options.topology.empty()) {
    topology = load_topology(context, options.topology);
  }
  return load_plan(context, context.source(options.plan), topology ? &*topology : nullptr);
}

}  // namespace twinrun::cli
