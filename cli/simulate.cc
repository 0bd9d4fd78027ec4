#include "sim/simulate.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/answers.h"
#include "cli/job_result.h"
#include "cli/job_search.h"
#include "cli/progress.h"
#include "cli/run_folder.h"
#include "cli/run_input.h"
#include "cli/run_log.h"
#include "cli/run_result.h"
#include "cli/simulated_run.h"
#include "cli/topology_input.h"
#include "cli/verb.h"

namespace twinrun::cli {
namespace {

struct SimulateOptions {
  RunArguments run;
  std::string fidelity = "auto";
  std::uint64_t seed = 1;
  std::string jitter = "none";
  std::vector<std::string> slow;
  double cores = 0;
  double communication_share = 0;
  bool allow_oom = false;
  RunFiles files;
};

void add_slow(const std::string& text, const Topology& topology, sim::SimulationOptions& out) {
  const std::size_t equals = text.find('=');
  double factor = 0;
  if (equals != std::string::npos) {
    const char* const end = text.data() + text.size();
    const auto [last, error] = std::from_chars(text.data() + equals + 1, end, factor);
    factor = error == std::errc() && last == end ? factor : 0;
  }
  if (!(factor > 0 && factor < 1e6)) {
    throw UsageError(fmt::format("--slow {}: not a device and a factor", text),
                     "write --slow gpu3=1.5: compute on gpu3 takes 1.5 times as long");
  }
  const VertexId vertex = vertex_named(topology, text.substr(0, equals));
  out.slowdown[topology.name(vertex)] = factor;
}

sim::SimulationOptions simulation_options(const SimulateOptions& options,
                                          const Topology& topology) {
  sim::SimulationOptions out;
  out.fidelity =
      static_cast<sim::Fidelity>(check_word("fidelity", options.fidelity, sim::kFidelityWords));
  const std::optional<sim::Noise> noise = sim::parse_noise(options.jitter);
  if (!noise) {
    throw UsageError(fmt::format("--jitter {}: not a distribution and a spread", options.jitter),
                     "write none, uniform:0.1, lognormal:0.05 or exponential:0.02");
  }
  out.noise = *noise;
  out.noise.seed = options.seed;
  out.cores_per_node = options.cores;
  out.communication_share = options.communication_share;
  for (const std::string& slow : options.slow) {
    add_slow(slow, topology, out);
  }
  return out;
}

// Options that can have changed nothing in this run.
std::vector<std::string> idle_options(const SimulateOptions& options, const Plan& plan) {
  std::vector<std::string> out;
  const auto has_kind = [&](OpKind kind) {
    for (std::size_t i = 0; i < plan.size(); ++i) {
      if (plan.kind(id_at<OpId>(i)) == kind) {
        return true;
      }
    }
    return false;
  };
  if (options.seed != 1 && options.jitter == "none") {
    out.emplace_back("--seed has no effect without --jitter");
  }
  if (options.fidelity != "auto" && !has_kind(OpKind::kCollective)) {
    out.emplace_back("--fidelity has no effect: the plan has no collective");
  }
  if (!options.slow.empty() && !has_kind(OpKind::kCompute)) {
    out.emplace_back("--slow has no effect: the plan has no compute");
  }
  return out;
}

void warn_of_idle_options(Context& context,
                          const SimulateOptions& options,
                          const Plan& plan,
                          nlohmann::ordered_json& json) {
  Diagnostics diagnostics;
  for (const std::string& idle : idle_options(options, plan)) {
    diagnostics.warning("W0701", {options.run.input, "", 0, false}, idle, "leave it out");
    json["warnings"].push_back(
        {{"code", "W0701"}, {"message", idle}, {"where", options.run.input}});
  }
  context.report(diagnostics);
}

std::string engine_line(const sim::Simulation& run, double wall_s, bool is_job) {
  return fmt::format("{:<{}}{} events in {:.3f} s · collectives {}{}\n", "engine", is_job ? 8 : 7,
                     run.engine.events, wall_s, run.fidelity.empty() ? "none" : run.fidelity,
                     run.why.empty() ? "" : ": " + run.why);
}

// What would make a job fit, as far as it is easily found.
std::string memory_advice(const RunInput& input) {
  if (!input.job || input.plan.size() > kMostOpsForSecondRun) {
    return "";
  }
  JobSearch search(input.job->loaded);
  const auto change = nearest_fitting_change(search);
  return change
             ? fmt::format("would fit with {}: peak {}, step {:.2f} ms\n", change->change,
                           to_text(Bytes{change->figures.peak_bytes}), change->figures.step_s * 1e3)
             : "neither recompute, smaller micro-batches, sharding, offload nor one more stage "
               "would do: it takes more devices, or such with more memory\n";
}

// The result of a job in its own words for people.
void describe_job(const RunFacts& facts,
                  const RunInput& input,
                  const Context& context,
                  Output& output) {
  output.text = job_text(facts, input, output.json);
  Table collectives = collective_table(facts);
  if (context.format() == Format::kTable && !collectives.rows.empty()) {
    output.tables.insert(output.tables.begin(), std::move(collectives));
  }
}

Output run_simulate(Context& context, const SimulateOptions& options) {
  check_run_folder(options.files);
  RunLog log(options.files);
  const RunInput input = read_run_input(context, options.run);
  sim::SimulationOptions simulation = simulation_options(options, input.topology);
  Progress progress(context, "simulating " + options.run.input);
  simulation.progress = [&](std::uint64_t done, std::uint64_t of) {
    progress.update(static_cast<std::int64_t>(done), static_cast<std::int64_t>(of));
  };
  const SimulatedRun run(input, simulation);
  Output output;
  output.json = run.result;
  warn_of_idle_options(context, options, input.plan, output.json);
  output.tables = result_tables(output.json, context.format() == Format::kTable);
  if (input.job) {
    describe_job(run.facts, input, context, output);
  } else {
    output.text = result_text(run.facts, output.json);
  }
  output.text += engine_line(run.simulation, run.wall_s, input.job.has_value());
  const std::vector<std::string> verdicts = memory_verdicts(run.facts);
  for (const std::string& verdict : verdicts) {
    output.text += "does not fit: " + verdict + "\n";
  }
  if (!verdicts.empty()) {
    const std::string advice = memory_advice(input);
    output.text += advice;
    output.json["memory_advice"] = advice.substr(0, advice.find('\n'));
    output.exit_code = options.allow_oom ? kSuccess : kCannotRun;
  }
  log.say(output.text);
  for (const std::string& line :
       write_run_files(options.files, input, run.simulation.trace, output.json)) {
    context.say(line);
  }
  return output;
}

}  // namespace

Run add_simulate(CLI::App& app) {
  const auto options = std::make_shared<SimulateOptions>();
  options->run.checks_waiting = false;
  add_run_arguments(app, options->run, "a job or a plan");
  app.add_option(
         "--fidelity", options->fidelity,
         "of collectives: every message (stepwise), one transfer (pipelined), NCCL's (nccl)")
      ->type_name("auto|stepwise|pipelined|nccl");
  app.add_option("--jitter", options->jitter,
                 "how op times stray: none, uniform:0.1, lognormal:0.05, exponential:0.02")
      ->type_name("LAW");
  app.add_option("--seed", options->seed, "of the jitter")->type_name("N");
  app.add_option("--slow", options->slow, "a straggler: gpu3=1.5; may be given several times")
      ->allow_extra_args(false)
      ->type_name("DEVICE=FACTOR");
  app.add_option("--cores", options->cores,
                 "cores that the CPU devices of a machine share; each has its own when left out")
      ->check(CLI::Range(0.0, 1e6))
      ->type_name("N");
  app.add_option("--sm-share", options->communication_share,
                 "share of a GPU's multiprocessors that a running collective keeps from compute")
      ->check(CLI::Range(0.0, 0.9))
      ->type_name("SHARE");
  add_run_file_options(app, options->files);
  app.add_flag("--allow-oom", options->allow_oom,
               "exit 0 though a device's memory does not suffice");
  return [options](Context& context) { return run_simulate(context, *options); };
}

}  // namespace twinrun::cli
