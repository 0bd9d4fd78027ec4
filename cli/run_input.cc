#include "cli/run_input.h"

#include <algorithm>
#include <array>
#include <utility>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/answers.h"
#include "cli/job_search.h"
#include "cli/plan_input.h"
#include "cli/topology_input.h"
#include "core/topology/build_topology.h"

namespace twinrun::cli {
namespace {

std::vector<JobOverride> overrides_of(const RunArguments& arguments) {
  std::vector<JobOverride> overrides;
  if (!arguments.model.empty()) {
    overrides.push_back({"--model " + arguments.model, "model", arguments.model});
  }
  if (!arguments.topology.empty()) {
    overrides.push_back({"--topology " + arguments.topology, "topology", arguments.topology});
  }
  for (const std::string& setting : arguments.set) {
    overrides.push_back(parse_override(setting));
  }
  if (arguments.ranks > 0) {
    overrides.push_back(parse_override(fmt::format("mapping.ranks={}", arguments.ranks)));
  }
  return overrides;
}

void check_standard_input(const RunArguments& arguments) {
  const std::array<const std::string*, 3> inputs = {&arguments.input, &arguments.model,
                                                    &arguments.topology};
  if (std::count_if(inputs.begin(), inputs.end(),
                    [](const std::string* input) { return *input == "-"; }) > 1) {
    throw UsageError("standard input can be read once only", "give all but one input as a file");
  }
}

// Only a job has these.
void refuse_job_options(const RunArguments& arguments) {
  const char* const option = !arguments.model.empty()                         ? "--model"
                             : !arguments.set.empty()                         ? "--set"
                             : arguments.steps > 0                            ? "--steps"
                             : arguments.ranks > 0 && !arguments.splits_plans ? "-n"
                                                                              : nullptr;
  if (option != nullptr) {
    throw UsageError(fmt::format("{} is for jobs, and {} is a plan", option, arguments.input),
                     "leave it out, or give the job that the plan was compiled from");
  }
}

RunInput read_plan_input(Context& context, const Source& source, const RunArguments& arguments) {
  check_standard_input(arguments);
  refuse_job_options(arguments);
  if (!arguments.topology.empty()) {
    LoadedTopology where = load_topology_and_spec(context, arguments.topology);
    Plan plan = load_plan(context, source, &where.topology);
    return {std::move(plan), std::move(where.topology), std::move(where.spec), std::nullopt};
  }
  Plan plan = load_plan(context, source, nullptr);
  if (plan.text().topology.empty()) {
    throw UsageError("the plan names no topology", "add --topology, such as --topology dgx-a100");
  }
  LoadedTopology where = load_topology_and_spec(context, plan.text().topology);
  return {std::move(plan), std::move(where.topology), std::move(where.spec), std::nullopt};
}

}  // namespace

void add_run_arguments(CLI::App& app, RunArguments& arguments, const std::string& input) {
  app.add_option("input", arguments.input, input + ", or - for standard input")
      ->required()
      ->type_name("FILE");
  app.add_option("--model", arguments.model, "instead of the job's: a name or a file")
      ->type_name("MODEL");
  app.add_option("--topology", arguments.topology, "instead of its own: a name, file, expression")
      ->type_name("TOPOLOGY");
  app.add_option("--set", arguments.set,
                 "a key of the job: training.local_batch_size=64, topology.nodes=4; repeatable")
      ->allow_extra_args(false)
      ->type_name("PATH=VALUE");
  app.add_option("--steps", arguments.steps, "training steps of a job")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("N");
}

CompiledRun compile_job(Context& context, const Source& source, const RunArguments& arguments) {
  check_standard_input(arguments);
  JobOptions options;
  options.overrides = overrides_of(arguments);
  options.open = [&](const std::string& argument) { return context.source(argument); };
  Diagnostics diagnostics;
  LoadedJob loaded = read_job(source, options, diagnostics);
  diagnostics.throw_if_errors();
  Topology topology = build_topology(loaded.topology, diagnostics);
  diagnostics.throw_if_errors();
  if (const std::string chosen = resolve_auto(loaded); !chosen.empty()) {
    context.say(chosen);
  }
  std::optional<CompiledJob> compiled =
      compile(loaded.job, loaded.model, topology,
              {arguments.steps, arguments.for_execution, arguments.checks_waiting,
               arguments.trains_in_short_types},
              diagnostics);
  throw_if_impossible(loaded.job, diagnostics);
  context.report(diagnostics);
  return {std::move(loaded), std::move(topology), *std::move(compiled)};
}

RunInput read_run_input(Context& context, const RunArguments& arguments) {
  return read_run_input(context, context.source(arguments.input), arguments);
}

RunInput read_run_input(Context& context, const Source& source, const RunArguments& arguments) {
  if (!is_job(source)) {
    return read_plan_input(context, source, arguments);
  }
  CompiledRun run = compile_job(context, source, arguments);
  TopologySpec spec = run.loaded.topology;
  return {std::move(run.compiled.plan), std::move(run.topology), std::move(spec),
          RunInput::FromJob{std::move(run.loaded), std::move(run.compiled.layout),
                            run.compiled.warmup_steps, run.compiled.why_not_trained}};
}

}  // namespace twinrun::cli
