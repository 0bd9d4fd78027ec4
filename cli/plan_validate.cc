#include <memory>

#include <fmt/format.h>

#include "cli/plan.h"
#include "cli/plan_input.h"

namespace twinrun::cli {

Run add_plan_validate(CLI::App& app) {
  const auto options = std::make_shared<PlanOptions>();
  add_plan_options(app, *options);
  return [options](Context& context) {
    const Plan plan = load_plan(context, *options);
    Output output;
    output.text =
        fmt::format("{}: valid · {} ops · {} edges · {} devices · {} streams · {} collectives\n",
                    options->plan, plan.size(), plan.edge_count(), plan.device_count(),
                    plan.stream_count(), plan.instance_count());
    output.json["valid"] = true;
    output.json["ops"] = plan.size();
    output.json["edges"] = plan.edge_count();
    output.json["devices"] = plan.device_count();
    output.json["streams"] = plan.stream_count();
    output.json["collectives"] = plan.instance_count();
    return output;
  };
}

}  // namespace twinrun::cli
