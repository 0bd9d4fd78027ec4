#include "cli/run_folder.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/comma_list.h"
#include "core/base/diagnostics.h"
#include "core/base/did_you_mean.h"
#include "core/io/save_job.h"
#include "core/io/save_plan.h"
#include "core/io/save_topology.h"
#include "core/io/save_trace.h"
#include "core/io/source.h"
#include "core/io/write_traces.h"

namespace twinrun::cli {
namespace {

std::int64_t step_number(const std::string& text, const std::string& whole) {
  const std::optional<std::int64_t> step = whole_number(text);
  if (!step) {
    throw UsageError(fmt::format("--trace-steps {}: not a list of steps", whole),
                     "write 2, or 0,3, or 2-5");
  }
  return *step;
}

std::vector<std::int64_t> steps_of(const std::string& argument) {
  constexpr std::int64_t kMost = 100'000;
  std::vector<std::int64_t> steps;
  if (argument.empty()) {
    return steps;
  }
  for (const std::string& part : comma_separated(argument)) {
    const std::size_t dash = part.find('-', 1);
    const std::int64_t first = step_number(part.substr(0, dash), argument);
    const std::int64_t last =
        dash == std::string::npos ? first : step_number(part.substr(dash + 1), argument);
    if (last < first || last - first > kMost) {
      throw UsageError(fmt::format("--trace-steps {}: {} is no range", argument, part));
    }
    for (std::int64_t step = first; step <= last; ++step) {
      steps.push_back(step);
    }
  }
  return steps;
}

std::vector<DeviceId> ranks_of(const std::string& argument, const Plan& plan) {
  std::vector<DeviceId> ranks;
  if (argument.empty() || argument == "all") {
    return ranks;
  }
  std::vector<std::string> names;
  for (std::size_t i = 0; i < plan.device_count(); ++i) {
    names.emplace_back(plan.device_name(id_at<DeviceId>(i)));
  }
  for (const std::string& name : comma_separated(argument)) {
    const auto found = std::find(names.begin(), names.end(), name);
    const std::optional<std::int64_t> number = whole_number(name);
    const std::size_t rank = found != names.end() ? static_cast<std::size_t>(found - names.begin())
                             : number             ? static_cast<std::size_t>(*number)
                                                  : names.size();
    if (rank >= names.size()) {
      throw UsageError(
          fmt::format("--trace-ranks {}: the plan has no device \"{}\"", argument, name),
          did_you_mean(name, names));
    }
    ranks.push_back(id_at<DeviceId>(rank));
  }
  return ranks;
}

void write_trace_folder(const RunFiles& files,
                        const std::string& folder,
                        const Plan& plan,
                        const Trace& trace,
                        std::vector<std::string>& said) {
  TraceFilesOptions options;
  options.content.ranks = ranks_of(files.trace_ranks, plan);
  options.content.steps = steps_of(files.trace_steps);
  options.force = files.force;
  const TraceFilesSummary written = write_traces(plan, trace, folder, options);
  said.push_back(fmt::format("traces: {} files in {}; open {} in the Perfetto UI",
                             written.files.size(), folder, written.files.back()));
  const std::string left_out = left_out_text(written);
  if (!left_out.empty()) {
    said.push_back(left_out);
  }
}

// Every time to the picosecond, for what reads a run back.
void write_exact_trace(const std::string& path,
                       const Plan& plan,
                       const Trace& trace,
                       bool force,
                       std::vector<std::string>& said) {
  std::int64_t left_out = 0;
  write_file_in_pieces(path, force, [&](const WriteChunk& write) {
    left_out = save_trace(plan, trace, kMostOpsInTraceFile, write);
  });
  if (left_out > 0) {
    said.push_back(
        fmt::format("left out of {}: the last {} of {} ops", path, left_out, plan.size()));
  }
}

}  // namespace

void add_run_file_options(CLI::App& app, RunFiles& files) {
  app.add_option("--out", files.out, "a folder for inputs, result.json and traces")
      ->type_name("DIR");
  app.add_option("--trace", files.trace, "a folder for traces: Kineto JSON a rank, one .pftrace")
      ->type_name("DIR");
  app.add_option("--trace-ranks", files.trace_ranks, "only these devices: gpu0,gpu3 or 0,3")
      ->type_name("LIST");
  app.add_option("--trace-steps", files.trace_steps, "only these steps: 2, or 0,3, or 2-5")
      ->type_name("LIST");
  app.add_flag("--force", files.force, "replace a run or trace that is there");
}

void check_run_folder(const RunFiles& files) {
  if (files.out.empty() || files.force) {
    return;
  }
  const std::filesystem::path result = std::filesystem::path(files.out) / "result.json";
  if (std::filesystem::exists(result)) {
    throw UsageError(fmt::format("{} holds a run already", files.out), "--force replaces it");
  }
}

std::vector<std::string> write_run_files(const RunFiles& files,
                                         const RunInput& input,
                                         const Trace& trace,
                                         const nlohmann::ordered_json& result) {
  std::vector<std::string> said;
  if (!files.out.empty()) {
    const std::filesystem::path out = files.out;
    std::filesystem::create_directories(out);
    if (input.job) {
      write_file((out / "job.json").string(), save_job(input.job->loaded), files.force);
    }
    save_plan_file(input.plan, (out / "plan.json").string(), files.force);
    write_file((out / "topology.json").string(), save_topology(input.spec), files.force);
    write_exact_trace((out / "trace.json").string(), input.plan, trace, files.force, said);
    write_trace_folder(files, (out / "traces").string(), input.plan, trace, said);
    // Last: a folder with a result is complete.
    write_file((out / "result.json").string(), result.dump(2) + "\n", files.force);
    said.push_back(fmt::format("run: {}", (out / "result.json").string()));
  }
  if (!files.trace.empty()) {
    write_trace_folder(files, files.trace, input.plan, trace, said);
  }
  return said;
}

}  // namespace twinrun::cli
