#include "cli/run_result.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "cli/beside.h"
#include "cli/breakdown_json.h"
#include "core/trace/breakdown.h"
#include "core/trace/critical_path.h"
#include "core/trace/device_use.h"
#include "core/trace/run_figures.h"
#include "core/trace/staleness.h"
#include "core/trace/worker_pace.h"

namespace twinrun::cli {
namespace {

using Json = nlohmann::ordered_json;

// More than anybody reads; the plans of a thousand GPUs have half a million collectives.
constexpr std::size_t kMostPathEntries = 1000;
constexpr std::size_t kMostCollectiveEntries = 10'000;

std::string vertex_name(const RunFacts& facts, std::size_t device) {
  return std::string(facts.plan.device_name(id_at<DeviceId>(device)));
}

Json devices_detail(const RunFacts& facts, const std::vector<DeviceUse>& use) {
  Json out = Json::array();
  for (std::size_t i = 0; i < use.size(); ++i) {
    out.push_back({{"device", vertex_name(facts, i)},
                   {"compute_s", to_seconds(use[i].compute)},
                   {"communication_s", to_seconds(use[i].communication)},
                   {"exposed_s", to_seconds(use[i].exposed)},
                   {"idle_s", to_seconds(use[i].idle)}});
  }
  return out;
}

// Memory of the device that a device of the plan is; 0 when not known.
Bytes capacity_of(const RunFacts& facts, std::size_t device) {
  const auto vertex = facts.topology.find(vertex_name(facts, device));
  const DeviceSpec* const spec = vertex ? facts.topology.device(*vertex) : nullptr;
  return spec == nullptr ? Bytes{} : spec->memory;
}

Json memory_json(const RunFacts& facts) {
  Json out = Json::array();
  for (std::size_t i = 0; i < facts.memory.size(); ++i) {
    const sim::MemoryPeak& peak = facts.memory[i];
    const std::int64_t capacity = capacity_of(facts, i).count;
    Json parts = Json::object();
    for (std::size_t part = 0; part < peak.parts.size(); ++part) {
      parts[std::string(kMemoryPartNames[part])] = peak.parts[part].count;
    }
    out.push_back(
        {{"device", vertex_name(facts, i)},
         {"peak_bytes", peak.peak.count},
         {"capacity_bytes", capacity > 0 ? Json(capacity) : Json(nullptr)},
         {"fits", capacity > 0 ? Json(peak.peak.count <= capacity) : Json(nullptr)},
         {"at_op", peak.at_op == no_id<OpId>() ? Json(nullptr) : Json(facts.plan.id(peak.at_op))},
         {"at_s", to_seconds(peak.at)},
         {"parts", parts}});
  }
  return out;
}

Json links_json(const Trace& trace) {
  Json out = Json::array();
  for (const LinkUse& link : trace.links) {
    out.push_back({{"link", link.link},
                   {"bytes", link.bytes},
                   {"busy_pct", link.busy_pct},
                   {"carried_nothing", link.bytes == 0}});
  }
  return out;
}

Json collective_json(const RunFacts& facts, const CollectiveRun& run) {
  const auto ops = facts.plan.instance_ops(run.instance);
  const OpId first = ops.front();
  Time end{};
  for (const OpId op : ops) {
    end = std::max(end, facts.trace.ops[index_of(op)].end);
  }
  const double seconds = to_seconds(end - facts.trace.ops[index_of(first)].start);
  const auto bytes = static_cast<double>(facts.plan.collective(first).bytes.count);
  const CollectiveKind kind = facts.plan.shape(first).kind;
  const double rate = seconds > 0 ? bytes / seconds / 1e9 : 0;
  const auto known = [](const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(text);
  };
  const auto gbps = [&](double value) { return seconds > 0 ? Json(value) : Json(nullptr); };
  return {{"op", facts.plan.match(first)},
          {"kind", name_of(kind)},
          {"algorithm", known(run.algorithm)},
          {"protocol", known(run.protocol)},
          {"ranks", ops.size()},
          {"bytes", facts.plan.collective(first).bytes.count},
          {"time_s", seconds},
          {"algbw_GBps", gbps(rate)},
          {"busbw_GBps", gbps(rate * bus_factor(kind, ops.size()))},
          {"bottleneck", known(run.bottleneck)}};
}

Json path_json(const RunFacts& facts, const CriticalPath& path) {
  Json out = Json::array();
  const std::size_t first = path.ops.size() - std::min(path.ops.size(), kMostPathEntries);
  for (std::size_t i = first; i < path.ops.size(); ++i) {
    const OpId op = path.ops[i];
    const OpTimes& times = facts.trace.ops[index_of(op)];
    out.push_back({{"op", facts.plan.id(op)},
                   {"device", facts.plan.device_name(facts.plan.device(op))},
                   {"start_s", to_seconds(times.start)},
                   {"end_s", to_seconds(times.end)},
                   {"kind", name_of(facts.plan.kind(op))}});
  }
  return out;
}

// Of asynchronous workers and of PipeDream: how old the weights were that gradients were computed
// with. No key where they were not.
void add_staleness(Json& json, const RunFacts& facts) {
  const Staleness staleness = facts.index.has_independent_workers
                                  ? server_staleness(facts.plan, facts.trace, facts.warmup_steps)
                                  : pipeline_staleness(facts.plan, facts.trace, facts.warmup_steps);
  if (!staleness.histogram.empty()) {
    json["staleness"] = {
        {"mean", staleness.mean}, {"max", staleness.max}, {"histogram", staleness.histogram}};
  }
}

// Of the steps after the warm-up, unless that is all there is.
double mean_step_s(const std::vector<Time>& steps, std::int64_t warmup_steps) {
  const auto skipped = static_cast<std::size_t>(warmup_steps);
  const std::size_t first = skipped < steps.size() ? skipped : 0;
  Time sum{};
  for (std::size_t i = first; i < steps.size(); ++i) {
    sum = sum + steps[i];
  }
  return to_seconds(sum) / static_cast<double>(steps.size() - first);
}

// A step of workers that do not wait for each other is what they make together; one by one they
// are listed beside it.
void add_step(Json& json, const RunFacts& facts, const std::vector<Time>& steps) {
  json["step_s"] = mean_step_s(steps, facts.warmup_steps);
  json["step_s_each"] = Json::array();
  for (const Time step : steps) {
    json["step_s_each"].push_back(to_seconds(step));
  }
  if (!facts.index.has_independent_workers) {
    return;
  }
  const WorkerPace pace = worker_pace(facts.plan, facts.trace, facts.warmup_steps);
  json["step_s"] = pace.step_s();
  json["worker_step_s"] = Json::array();
  for (const Worker& worker : pace.workers) {
    const double steps_per_s = worker.steps_per_s();
    json["worker_step_s"].push_back(steps_per_s > 0 ? Json(1 / steps_per_s) : Json(nullptr));
  }
}

// Of the steps that count; of all that ran when none is whole.
RunFigures figures_of(const RunFacts& facts) {
  CountedSteps steps = counted_steps({facts.plan, facts.trace, facts.warmup_steps});
  if (steps.spans.empty()) {
    steps.spans = facts.index.steps.spans();
  }
  return run_figures(facts.index, steps, facts.warmup_steps);
}

void add_overlap(Json& json, const RunFacts& facts, const RunFigures& figures) {
  json["t1_s"] = figures.t1_s;
  const bool known = facts.communication_alone.has_value();
  const double t2 = known ? to_seconds(*facts.communication_alone) : 0;
  json["t2_s"] = known ? Json(t2) : Json(nullptr);
  json["max_t1_t2_s"] = known ? Json(std::max(figures.t1_s, t2)) : Json(nullptr);
  json["sum_t1_t2_s"] = known ? Json(figures.t1_s + t2) : Json(nullptr);
  json["overlap_pct"] = figures.overlap_pct ? Json(*figures.overlap_pct) : Json(nullptr);
  json["exposed_communication_s"] = figures.exposed_communication_s;
}

// What only a job can tell; job_result.cc fills it in.
constexpr std::array kKeysOfJobs = {"samples_per_s",         "epoch_s",
                                    "speedup_vs_one_device", "scaling_efficiency_pct",
                                    "tflops_per_device",     "mfu_pct"};

}  // namespace

Json result_json(const RunFacts& facts) {
  std::future<Breakdown> parts =
      beside(facts.plan, [&facts] { return breakdown(facts.index, facts.warmup_steps); });
  std::future<RunFigures> figures = beside(facts.plan, [&facts] { return figures_of(facts); });
  const std::vector<DeviceUse> use = device_use(facts.index);
  const std::vector<Time> steps = facts.index.steps.times();
  const std::vector<DeviceId> training = training_devices(facts.plan);
  Json json;
  json["schema"] = "twinrun/result/1";
  json["source"] = facts.trace.source;
  json["backend"] = facts.backend.empty() ? Json(nullptr) : Json(facts.backend);
  json["name"] = facts.plan.text().name;
  json["topology"] = facts.topology.name();
  json["devices"] = training.size();
  json["steps"] = steps.size();
  json["warmup_steps"] = facts.warmup_steps;
  json["makespan_s"] = to_seconds(facts.trace.makespan);
  add_step(json, facts, steps);
  for (const char* const key : kKeysOfJobs) {
    json[key] = nullptr;
  }
  add_overlap(json, facts, figures.get());
  json["breakdown_s"] = nullptr;  // keeps its place among the keys
  json["memory"] = memory_json(facts);
  json["devices_detail"] = devices_detail(facts, use);
  json["links"] = links_json(facts.trace);
  json["collectives"] = Json::array();
  const std::vector<CollectiveRun>& runs = facts.trace.collectives;
  const std::size_t listed = std::min(runs.size(), kMostCollectiveEntries);
  for (std::size_t i = 0; i < listed; ++i) {
    json["collectives"].push_back(collective_json(facts, runs[i]));
  }
  json["collectives_left_out"] = runs.size() - listed;
  const CriticalPath path = critical_path(facts.plan, facts.trace);
  json["critical_path"] = path_json(facts, path);
  json["critical_path_left_out"] = path.ops.size() - json["critical_path"].size();
  const double whole = std::max(1e-12, to_seconds(facts.trace.makespan));
  json["critical_path_share"] = {{"compute", to_seconds(path.compute) / whole},
                                 {"communication", to_seconds(path.communication) / whole},
                                 {"wait", to_seconds(path.wait) / whole}};
  add_staleness(json, facts);
  json["breakdown_s"] = breakdown_json(parts.get());
  json["cost_per_epoch"] = nullptr;
  json["energy_J"] = nullptr;
  return json;
}

// Neighbours that lack the same share a sentence: a cluster has thousands.
std::vector<std::string> memory_verdicts(const RunFacts& facts) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < facts.memory.size(); ++i) {
    const std::size_t first = i;
    const sim::MemoryPeak& peak = facts.memory[i];
    const Bytes capacity = capacity_of(facts, i);
    if (capacity.count == 0 || peak.peak <= capacity) {
      continue;
    }
    while (i + 1 < facts.memory.size() && facts.memory[i + 1].peak == peak.peak &&
           capacity_of(facts, i + 1) == capacity) {
      ++i;
    }
    const std::string names = i == first ? vertex_name(facts, first)
                                         : fmt::format("each of {} … {}", vertex_name(facts, first),
                                                       vertex_name(facts, i));
    const auto largest = std::max_element(peak.parts.begin(), peak.parts.end());
    out.push_back(
        fmt::format("{} needs {} and has {}: {} too much, at {}; most of it is {} ({})", names,
                    to_text(peak.peak), to_text(capacity),
                    to_text(Bytes{peak.peak.count - capacity.count}), facts.plan.id(peak.at_op),
                    kMemoryPartNames[static_cast<std::size_t>(largest - peak.parts.begin())],
                    to_text(*largest)));
  }
  return out;
}

}  // namespace twinrun::cli
