#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/backend_run.h"
#include "cli/execute_sweep.h"
#include "cli/gpu_tables.h"
#include "cli/job_result.h"
#include "cli/progress.h"
#include "cli/repeated_command.h"
#include "cli/run_folder.h"
#include "cli/run_input.h"
#include "cli/run_log.h"
#include "cli/run_result.h"
#include "cli/verb.h"
#include "core/io/read_dataset.h"
#include "core/io/source.h"
#include "core/trace/trace_index.h"
#include "exec/backends.h"
#include "exec/check_dataset.h"
#include "exec/sha256.h"
#include "sim/simulate.h"

namespace twinrun::cli {
namespace {

struct ExecuteArguments {
  RunArguments run;
  std::string backend;
  std::int64_t warmup_steps = 0;
  double timeout_s = 60;
  std::uint64_t seed = 1;
  std::string data = "clusters";
  bool is_reproducible = false;
  bool is_paced = false;
  bool wants_estimates = false;
  bool wants_kernels = false;
  RunFiles files;
  StepsToTargetSweep sweep;
  std::vector<std::string> command;  // that starts this program with the same input
};

// Where samples come from: made here, or files.
std::optional<Dataset> read_data(const std::string& data, const RunInput& input) {
  if (data == "clusters" || data == "integers" || !input.plan.workload().is_trained()) {
    return std::nullopt;
  }
  const Workload& workload = input.plan.workload();
  Diagnostics diagnostics;
  Dataset out;
  if (const std::size_t comma = data.find(','); comma != std::string::npos) {
    out = read_idx_dataset(Source::of_file(data.substr(0, comma)),
                           Source::of_file(data.substr(comma + 1)), diagnostics);
  } else {
    const bool has_classes = workload.layers.back().kind == WorkKind::kSoftmaxCrossEntropy;
    out = read_csv_dataset(Source::of_file(data), has_classes ? 1 : workload.layers.back().inputs,
                           diagnostics);
  }
  diagnostics.throw_if_errors();
  if (const std::string reason = exec::why_not_learned_from(out, workload); !reason.empty()) {
    diagnostics.error("E0611", {data, ""}, reason);
    diagnostics.throw_if_errors();
  }
  return out;
}

// Every op as long as it is simulated to take, contention included.
std::vector<Time> simulated_durations(const RunInput& input) {
  const Trace trace = sim::simulate(input.plan, input.topology, {}).trace;
  std::vector<Time> out;
  out.reserve(trace.ops.size());
  for (const OpTimes& op : trace.ops) {
    out.push_back(op.end - op.start);
  }
  return out;
}

exec::Execution execute(Context& context,
                        const ExecuteArguments& arguments,
                        const RunInput& input,
                        RunLog& log) {
  Progress progress(context, "executing " + arguments.run.input);
  exec::ExecuteOptions options;
  options.seed = arguments.seed;
  options.uses_integers = arguments.data == "integers";
  const std::optional<Dataset> dataset = read_data(arguments.data, input);
  options.dataset = dataset ? &*dataset : nullptr;
  options.is_reproducible = arguments.is_reproducible;
  options.estimates_collectives = arguments.wants_estimates;
  options.collects_kernels = arguments.wants_kernels;
  options.processes = static_cast<int>(arguments.run.ranks);
  options.command = arguments.command;
  options.run.timeout_s = arguments.timeout_s;
  options.run.interrupted = InterruptGuard::flag();
  if (arguments.is_paced) {
    options.run.pace = simulated_durations(input);
  }
  std::string newest;
  double logged_s = -1;
  const auto begin = std::chrono::steady_clock::now();
  options.on_step = [&](const exec::StepReport& report) {
    const std::chrono::duration<double> since = std::chrono::steady_clock::now() - begin;
    newest = fmt::format(
        "step {}, {} each, loss {:.4g}", report.step + 1,
        to_text(Time{std::llround(since.count() * 1e12 / static_cast<double>(report.step + 1))}),
        report.loss);
    if (since.count() - logged_s >= 1) {  // a line a second
      logged_s = since.count();
      log.say(newest);
    }
  };
  options.run.progress = [&](std::size_t done, std::size_t of) {
    progress.update(static_cast<std::int64_t>(done), static_cast<std::int64_t>(of), newest);
  };
  const InterruptGuard guard;
  return backend_named(arguments.backend).execute(input.plan, options);
}

void add_training(nlohmann::ordered_json& json, const exec::Execution& run, const RunInput& input) {
  json["emulated"] = run.is_emulated;
  if (run.is_emulated) {
    json["emulated_because"] =
        input.job ? input.job->why_not_trained : "the plan does not say what its ops work on";
  }
  json["loss"] = run.losses;
  json["weights_sha256"] = nullptr;
  if (!run.weights.empty()) {
    json["weights_sha256"] = exec::sha256(std::as_bytes(std::span(run.weights)));
  }
  json["replica_disagreement"] = run.replica_disagreement;
}

void add_warnings(Context& context, const exec::Execution& run, nlohmann::ordered_json& json) {
  json["warnings"] = nlohmann::ordered_json::array();
  for (const std::string& warning : run.warnings) {
    context.say("warning: " + warning);
    json["warnings"].push_back({{"code", nullptr}, {"message", warning}, {"where", nullptr}});
  }
}

std::string training_text(const exec::Execution& run, const nlohmann::ordered_json& json) {
  if (run.outcome.failure) {
    return fmt::format("failed  {}\n", run.outcome.failure->message);
  }
  if (run.is_emulated) {
    return fmt::format("data    emulated: {}\n", json["emulated_because"].get<std::string>());
  }
  return fmt::format("loss    {:.6g} at first, {:.6g} at last\nweights sha256 {}\n",
                     run.losses.front(), run.losses.back(),
                     json["weights_sha256"].get<std::string>());
}

// Of a run in several processes, whose clocks had to be aligned.
void add_processes(Output& output, const exec::Execution& run) {
  output.json["processes"] = run.processes;
  output.json["transport"] = transport_json(run);
  output.json["clock_residual_s"] = run.clock_residual_s;
  if (run.processes > 1) {
    output.text += fmt::format("clocks  {}\n", clocks_text(run));
  }
}

// Steps that were not done have no times.
void add_failure(nlohmann::ordered_json& json, const exec::Failure& failure) {
  json["failure"] = failure.message;
  for (const char* const key : {"step_s", "samples_per_s", "epoch_s", "tflops_per_device",
                                "mfu_pct", "speedup_vs_one_device", "scaling_efficiency_pct"}) {
    json[key] = nullptr;
  }
  json["step_s_each"] = nlohmann::ordered_json::array();
}

Output describe(Context& context, const RunFacts& facts, const RunInput& input) {
  Output output;
  output.json = result_json(facts);
  output.tables = result_tables(output.json, context.format() == Format::kTable);
  if (input.job) {
    add_job_keys(output.json, input, std::nullopt);
    output.text = job_text(facts, input, output.json);
  } else {
    output.text = result_text(facts, output.json);
  }
  return output;
}

// A full disk does not take the result away: it is told all the same.
void keep_files(Context& context,
                const ExecuteArguments& arguments,
                const RunInput& input,
                const exec::Execution& run,
                Output& output) {
  try {
    for (const std::string& line :
         write_run_files(arguments.files, input, run.outcome.trace, output.json)) {
      context.say(line);
    }
    if (arguments.wants_kernels && !arguments.files.out.empty()) {
      const std::filesystem::path out = arguments.files.out;
      write_file((out / "kernels.csv").string(), kernels_as_csv(input, run), arguments.files.force);
    }
  } catch (const std::exception& error) {
    context.report_error(error.what());
    output.exit_code = output.exit_code == 0 ? static_cast<int>(kFailure) : output.exit_code;
  }
}

Output run_sweep(Context& context, ExecuteArguments arguments) {
  if (arguments.backend != "cpu") {
    throw UsageError("--sweep runs in one process", "--backend cpu");
  }
  if (!(arguments.sweep.target_loss > 0)) {
    throw UsageError("--sweep needs a loss to be reached", "--target-loss 0.1");
  }
  arguments.sweep.file = arguments.files.out;
  return run_execute_sweep(context, arguments.run, arguments.sweep, [&](const RunInput& input) {
    RunLog log({});  // the folder is a file
    return execute(context, arguments, input, log);
  });
}

void check_arguments(const ExecuteArguments& arguments) {
  const bool is_of_gpus = arguments.wants_estimates || arguments.wants_kernels;
  if (is_of_gpus && arguments.backend != "cuda") {
    throw UsageError(
        fmt::format("{} is of GPUs", arguments.wants_estimates ? "--nccl-estimate" : "--cupti"),
        "--backend cuda");
  }
}

// What the GPUs were asked for beyond the run itself.
void add_gpu_tables(const ExecuteArguments& arguments,
                    const RunInput& input,
                    const exec::Execution& run,
                    const std::optional<Trace>& simulated,
                    Output& output) {
  if (simulated && !run.estimates.empty()) {
    add_nccl_estimates(output, input.plan, run, *simulated);
  }
  if (arguments.wants_kernels && !run.kernels.empty()) {
    add_kernels(output, run);
  }
}

Output run_execute(Context& context, ExecuteArguments arguments) {
  if (arguments.run.steps > 0) {
    arguments.run.steps += arguments.warmup_steps;
  }
  check_arguments(arguments);
  std::optional<RepeatedCommand> command;  // its file is there while others run
  arguments.run.trains_in_short_types = arguments.backend == "cuda";
  if (arguments.backend == "mpi") {
    arguments.command = command.emplace().words();
    arguments.run.splits_plans = true;
  }
  if (!arguments.sweep.axes.empty()) {
    return run_sweep(context, arguments);
  }
  check_run_folder(arguments.files);
  RunLog log(arguments.files);
  const RunInput input = read_run_input(context, arguments.run);
  std::optional<Trace> simulated;  // before the run, so that nothing is lost if it cannot be done
  if (arguments.wants_estimates) {
    simulated = sim::simulate(input.plan, input.topology, {}).trace;
  }
  const auto begin = std::chrono::steady_clock::now();
  const exec::Execution run = execute(context, arguments, input, log);
  end_if_told_elsewhere(run);
  const double wall_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const TraceIndex index(input.plan, run.outcome.trace);
  RunFacts facts{input.plan, input.topology, run.outcome.trace, index};
  facts.backend = arguments.backend;
  facts.warmup_steps = std::max(arguments.warmup_steps, input.job ? input.job->warmup_steps : 0);
  Output output = describe(context, facts, input);
  add_training(output.json, run, input);
  add_warnings(context, run, output.json);
  output.json["engine"] = {{"wall_s", wall_s}, {"library", run.library}};
  output.text += training_text(run, output.json);
  add_processes(output, run);
  output.text += fmt::format("{:<8}{:.3f} s · products by {}\n", "engine", wall_s, run.library);
  if (run.outcome.failure) {
    add_failure(output.json, *run.outcome.failure);
    output.exit_code = exit_code_of(run.outcome.failure->kind);
  }
  add_gpu_tables(arguments, input, run, simulated, output);
  log.say(output.text);
  keep_files(context, arguments, input, run, output);
  end_if_stuck(context, output, run);
  return output;
}

}  // namespace

Run add_execute(CLI::App& app) {
  const auto arguments = std::make_shared<ExecuteArguments>();
  arguments->run.for_execution = true;
  add_run_arguments(app, arguments->run, "a job or a plan");
  app.add_option("--backend", arguments->backend,
                 "what runs it: threads, processes of MPI, or GPUs")
      ->required()
      ->type_name("cpu|mpi|cuda");
  app.add_option("-n", arguments->run.ranks,
                 "only the first so many devices of the job; of mpi so many processes")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("RANKS");
  app.add_option("--warmup-steps", arguments->warmup_steps, "steps before those that are counted")
      ->check(CLI::Range(0, 1'000'000))
      ->type_name("N");
  app.add_option("--timeout", arguments->timeout_s, "seconds without an op ending")
      ->check(CLI::Range(0.01, 1e6))
      ->type_name("S");
  app.add_option("--seed", arguments->seed, "of samples and initial weights")->type_name("N");
  app.add_option("--data", arguments->data,
                 "what to learn: made-up clusters, small integers whose sums are exact, a CSV file "
                 "with the class in the last column, or two IDX files (IMAGES,LABELS)")
      ->type_name("clusters|integers|FILE|FILE,FILE");
  app.add_flag("--reproducible", arguments->is_reproducible,
               "loops of ours instead of OpenBLAS: the same bits on every machine");
  app.add_flag("--pace", arguments->is_paced,
               "ops take no less than they do in the simulation of the topology");
  app.add_flag(
      "--nccl-estimate", arguments->wants_estimates,
      "of cuda: NCCL's own prediction of each collective beside ours and what was measured");
  app.add_flag(
      "--cupti", arguments->wants_kernels,
      "of cuda: have CUPTI record the kernels; all of them go to DIR/kernels.csv of --out");
  app.add_option("--sweep", arguments->sweep.axes,
                 "train once for each value and count the steps to --target-loss; --out FILE keeps "
                 "them for explain --time-to-accuracy")
      ->type_name("PATH=A,B,…");
  app.add_option("--target-loss", arguments->sweep.target_loss, "of --sweep: mean of ten steps")
      ->type_name("LOSS");
  add_run_file_options(app, arguments->files);
  return [arguments](Context& context) { return run_execute(context, *arguments); };
}

}  // namespace twinrun::cli
