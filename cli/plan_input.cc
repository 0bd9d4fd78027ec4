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
#include "core/topology/topology.h"

namespace twinrun::cli {

void add_plan_options(CLI::App& app, PlanOptions& options) {
  app.add_option("plan", options.plan, "a plan file, or - for standard input")
      ->required()
      ->type_name("FILE");
  app.add_option("--topology", options.topology, "check that its devices exist there")
      ->type_name("TOPOLOGY");
}

Plan load_plan(Context& context, const PlanOptions& options) {
  std::optional<Topology> topology;
  std::function<bool(std::string_view)> device_exists;
  if (!options.topology.empty()) {
    topology = load_topology(context, options.topology);
    device_exists = [&](std::string_view name) { return topology->find(name).has_value(); };
  }
  Diagnostics diagnostics;
  Progress progress(context, "reading " + options.plan);
  const Source source =
      context.source(options.plan).watched([&](std::int64_t done, std::int64_t total) {
        progress.update(done, total);
      });
  std::optional<Plan> plan = load_valid_plan(source, device_exists, diagnostics);
  diagnostics.throw_if_errors();
  context.report(diagnostics);
  return *std::move(plan);
}

}  // namespace twinrun::cli
