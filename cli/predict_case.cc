#include "cli/predict_case.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/rank_list.h"
#include "core/strategy/strategies.h"
#include "core/topology/build_topology.h"
#include "core/trace/breakdown.h"
#include "sim/simulate.h"

namespace twinrun::cli {
namespace {

// The largest parts of a step: "compute 71 %, exposed communication 20 %".
std::string largest_parts(const Breakdown& parts) {
  std::vector<std::pair<Time, const char*>> named = {
      {parts.compute, "compute"},
      {parts.recompute, "recompute"},
      {parts.exposed_communication, "exposed communication"},
      {parts.bubble, "bubble"},
      {parts.imbalance, "imbalance"},
      {parts.input_wait, "waiting for input"},
      {parts.server_wait, "waiting for servers"},
      {parts.update, "update"},
      {parts.host, "host"},
      {parts.idle, "idle"}};
  std::stable_sort(named.begin(), named.end(),
                   [](const auto& a, const auto& b) { return a.first.ps > b.first.ps; });
  std::string out;
  for (const auto& [time, name] : named) {
    const double share = to_seconds(time) / std::max(to_seconds(parts.step), 1e-12);
    if (share >= 0.05) {
      out += fmt::format("{}{} {:.0f} %", out.empty() ? "" : ", ", name, 100 * share);
    }
  }
  return out;
}

std::string all_messages(const Diagnostics& diagnostics) {
  std::string out;
  for (const Diagnostic& one : diagnostics.all()) {
    if (one.severity == Severity::kError) {
      out += (out.empty() ? "" : "; ") + one.message + (one.help.empty() ? "" : ": " + one.help);
    }
  }
  return out;
}

CasePrediction predict_job(const CaseFile& file, const CaseRow& row, const std::string& left_out) {
  Diagnostics diagnostics;
  LoadedJob loaded = read_case_job(file, row, diagnostics);
  diagnostics.throw_if_errors();
  for (DeviceSpec& device : loaded.topology.devices) {
    device.leave_out = left_out;
  }
  const Topology topology = build_topology(loaded.topology, diagnostics);
  diagnostics.throw_if_errors();
  CompileOptions options;
  options.steps = file.steps;
  const std::optional<CompiledJob> compiled =
      compile(loaded.job, loaded.model, topology, options, diagnostics);
  diagnostics.throw_if_errors();
  const sim::Simulation run = sim::simulate(compiled->plan, topology);
  const Breakdown parts = breakdown(compiled->plan, run.trace, compiled->warmup_steps);
  const double step_s = to_seconds(parts.step);
  CasePrediction out;
  out.value = file.metric == CaseMetric::kSamplesPerS
                  ? static_cast<double>(compiled->layout.global_batch) / step_s
                  : step_s;
  out.because = largest_parts(parts);
  return out;
}

// How the first collective was done, and what limited it.
std::string way_of(const sim::Simulation& run) {
  if (run.trace.collectives.empty()) {
    return "a message";
  }
  const CollectiveRun& first = run.trace.collectives.front();
  return fmt::format("{}{}{}", first.algorithm, first.protocol.empty() ? "" : " " + first.protocol,
                     first.bottleneck.empty() ? "" : ", limited by " + first.bottleneck);
}

CasePrediction predict_collective(const CaseFile& file, const CaseRow& row) {
  Diagnostics diagnostics;
  const CaseCollective what = read_case_collective(file, row, diagnostics);
  diagnostics.throw_if_errors();
  const Topology topology = build_topology(what.topology, diagnostics);
  diagnostics.throw_if_errors();
  std::vector<std::string> devices;
  for (const VertexId rank : rank_list(topology, what.ranks)) {
    devices.push_back(topology.name(rank));
  }
  const Plan plan = plan_of_calls(devices, what.calls, {what.algorithm, what.dtype, 0});
  sim::SimulationOptions options;
  options.launch.gpus_per_process = static_cast<int>(what.gpus_per_process);
  const sim::Simulation run = sim::simulate(plan, topology, options);
  return {to_seconds(run.trace.makespan), way_of(run), ""};
}

}  // namespace

CasePrediction predict_case(const CaseFile& file, const CaseRow& row, const std::string& left_out) {
  try {
    // No curve has a say in how long collectives take.
    return file.is_collective ? predict_collective(file, row) : predict_job(file, row, left_out);
  } catch (const InputError& error) {
    return {0, "", all_messages(error.diagnostics())};
  } catch (const UsageError& error) {
    return {0, "", error.what()};
  } catch (const CannotRun& error) {
    return {0, "", error.what()};
  }
}

}  // namespace twinrun::cli
