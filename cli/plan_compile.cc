#include <memory>
#include <string>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/plan.h"
#include "cli/run_input.h"
#include "core/io/save_plan.h"

namespace twinrun::cli {
namespace {

struct CompileArguments {
  RunArguments run;
  std::string out;
  bool force = false;
};

Output compile_plan(Context& context, const CompileArguments& arguments) {
  const CompiledRun run = compile_job(context, context.source(arguments.run.input), arguments.run);
  const Plan& plan = run.compiled.plan;
  Output output;
  if (arguments.out == "-") {
    output.text = plan_to_json(plan);
    if (context.speaks_json()) {
      output.json = nlohmann::ordered_json::parse(output.text);
    }
    return output;
  }
  save_plan_file(plan, arguments.out, arguments.force);
  output.json = {{"plan", arguments.out},
                 {"ops", plan.size()},
                 {"edges", plan.edge_count()},
                 {"devices", plan.device_count()},
                 {"collectives", plan.instance_count()},
                 {"steps", run.compiled.steps}};
  output.text =
      fmt::format("wrote {}: {} ops · {} edges · {} devices · {} collectives · {} step{}\n",
                  arguments.out, plan.size(), plan.edge_count(), plan.device_count(),
                  plan.instance_count(), run.compiled.steps, run.compiled.steps == 1 ? "" : "s");
  return output;
}

}  // namespace

Run add_plan_compile(CLI::App& app) {
  const auto arguments = std::make_shared<CompileArguments>();
  add_run_arguments(app, arguments->run, "a job");
  app.add_option("-o,--output", arguments->out, "where to write the plan; - for standard output")
      ->required()
      ->type_name("FILE");
  app.add_flag("--for-execution", arguments->run.for_execution,
               "say of each op which tensors it works on, where all layers have a real kernel");
  app.add_flag("--force", arguments->force, "replace an existing file");
  return [arguments](Context& context) { return compile_plan(context, *arguments); };
}

}  // namespace twinrun::cli
