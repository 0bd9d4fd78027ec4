#include "cli/compare_input.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "cli/plan_input.h"
#include "core/io/load_run_folder.h"
#include "core/io/load_trace.h"
#include "core/io/read_kineto.h"
#include "core/trace/kineto_import.h"

namespace twinrun::cli {
namespace {

// Of the fullest device, as far as the run knows its memory.
std::optional<double> peak_memory(const nlohmann::ordered_json& result) {
  const auto memory = result.find("memory");
  if (memory == result.end() || !memory->is_array()) {
    return std::nullopt;
  }
  std::optional<double> most;
  for (const auto& device : *memory) {
    const auto peak = device.is_object() ? device.find("peak_bytes") : device.end();
    if (device.is_object() && peak != device.end() && peak->is_number() && *peak > 0) {
      most = std::max(most.value_or(0), peak->get<double>());
    }
  }
  return most;
}

CompareInput of_run_folder(Context& context, const std::string& path) {
  Diagnostics diagnostics;
  std::optional<RunFolder> run = load_run_folder(path, diagnostics);
  diagnostics.throw_if_errors();
  context.report(diagnostics);
  CompareInput input{path, std::move(run->plan), std::move(run->trace)};
  input.warmup_steps = run->warmup_steps();
  input.t2_s = run->result_number("t2_s");
  input.samples_per_s = run->result_number("samples_per_s");
  input.peak_memory_bytes = peak_memory(run->result);
  return input;
}

CompareInput of_files(Context& context,
                      const std::string& argument,
                      const std::string& plan_file,
                      const std::string& trace_file) {
  Plan plan = load_plan(context, context.source(plan_file), nullptr);
  Diagnostics diagnostics;
  std::optional<Trace> trace = load_trace(context.source(trace_file), plan, diagnostics);
  diagnostics.throw_if_errors();
  context.report(diagnostics);
  return {argument, std::move(plan), *std::move(trace)};
}

CompareInput of_kineto(Context& context,
                       const std::string& argument,
                       const std::vector<std::string>& files) {
  std::vector<Source> sources;
  sources.reserve(files.size());
  for (const std::string& file : files) {
    sources.push_back(context.source(file));
  }
  Diagnostics diagnostics;
  const std::vector<KinetoFile> ranks = read_kineto_ranks(sources, diagnostics);
  diagnostics.throw_if_errors();
  context.report(diagnostics);
  ImportedRun run = import_kineto(ranks);
  for (const std::string& line : run.said) {
    context.say(fmt::format("{}: {}", argument, line));
  }
  return {argument, std::move(run.plan), std::move(run.trace)};
}

CompareInput of_folder(Context& context, const std::string& argument) {
  if (is_run_folder(argument)) {
    return of_run_folder(context, argument);
  }
  const std::vector<std::string> files = kineto_files(argument);
  if (files.empty()) {
    throw UsageError(fmt::format("{} holds no run and no trace", argument), kCompareInputForms);
  }
  return of_kineto(context, argument, files);
}

CompareInput found(Context& context, const std::string& argument) {
  if (std::filesystem::is_directory(argument)) {
    return of_folder(context, argument);
  }
  if (const std::size_t comma = argument.find(','); comma != std::string::npos) {
    return of_files(context, argument, argument.substr(0, comma), argument.substr(comma + 1));
  }
  const std::filesystem::path folder = std::filesystem::path(argument).parent_path();
  if (is_trace(Source::of_file(argument))) {
    return of_files(context, argument, (folder / "plan.json").string(), argument);
  }
  if (is_kineto(Source::of_file(argument))) {
    return of_kineto(context, argument, {argument});
  }
  throw UsageError(fmt::format("{} is no run and no trace", argument), kCompareInputForms);
}

}  // namespace

CompareInput read_compare_input(Context& context,
                                const std::string& argument,
                                std::optional<std::int64_t> warmup_steps) {
  CompareInput input = found(context, argument);
  input.warmup_steps = warmup_steps.value_or(input.warmup_steps);
  return input;
}

}  // namespace twinrun::cli
