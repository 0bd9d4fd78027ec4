#include <algorithm>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "cli/plan.h"
#include "cli/plan_input.h"
#include "core/plan/op.h"
#include "core/plan/summary.h"

namespace twinrun::cli {
namespace {

// The op ids of a path, the middle of a long one left out.
std::string path_in_words(const Plan& plan, const PathSummary& path) {
  constexpr std::size_t kShownAtEachEnd = 3;
  std::string words;
  for (std::size_t i = 0; i < path.path.size(); ++i) {
    const bool in_middle = i >= kShownAtEachEnd && i + kShownAtEachEnd < path.path.size();
    if (in_middle && i == kShownAtEachEnd) {
      words += fmt::format(" → … {} more …", path.path.size() - 2 * kShownAtEachEnd);
    }
    if (!in_middle) {
      words += fmt::format("{}{}", i == 0 ? "" : " → ", plan.id(path.path[i]));
    }
  }
  return words;
}

Table fact_table(const Plan& plan, const PlanSummary& summary) {
  Table facts;
  facts.has_header = false;
  facts.columns = {{"fact"}, {"value"}};
  const auto add = [&](const char* fact, std::string value) {
    facts.rows.push_back({fact, std::move(value)});
  };
  std::string kinds;
  for (std::size_t i = 0; i < summary.by_kind.size(); ++i) {
    if (summary.by_kind[i] > 0) {
      kinds +=
          fmt::format("{}{} {}", kinds.empty() ? "" : " · ", summary.by_kind[i], kOpKindNames[i]);
    }
  }
  add("ops", fmt::format("{}{}{}", summary.ops, kinds.empty() ? "" : ": ", kinds));
  add("edges", fmt::format("{}", summary.edges));
  add("devices", fmt::format("{} · {} streams · {} groups · {} collectives", summary.devices,
                             summary.streams, summary.groups, summary.collectives));
  add("width", fmt::format("{} ops at most at one of {} levels", summary.width, summary.levels));
  add("critical", fmt::format("{} ops: {}", summary.critical_by_count.ops,
                              path_in_words(plan, summary.critical_by_count)));
  if (!summary.critical_by_duration.path.empty()) {
    add("", fmt::format("{} by given durations ({} of {} ops have one): {}",
                        to_text(summary.critical_by_duration.given_time), summary.with_duration,
                        summary.ops, path_in_words(plan, summary.critical_by_duration)));
  }
  add("memory", fmt::format("{:.1f} bytes an op · {:.1f} an edge · {} of names",
                            summary.memory.bytes_per_op, summary.memory.bytes_per_edge,
                            to_text(Bytes{static_cast<std::int64_t>(summary.memory.name_bytes)})));
  return facts;
}

Table load_table(const PlanSummary& summary) {
  Table table;
  table.columns = {{"device"},
                   {"ops", "", Align::kRight},
                   {"flops", "GFLOP", Align::kRight},
                   {"bytes_sent", "sent", Align::kRight},
                   {"given_time_s", "given time", Align::kRight}};
  for (const DeviceLoad& load : summary.loads) {
    table.rows.push_back(
        {load.name, load.ops, Cell(load.flops, fmt::format("{:.3f}", load.flops / 1e9)),
         Cell(load.bytes_sent, to_text(Bytes{static_cast<std::int64_t>(load.bytes_sent)})),
         Cell(to_seconds(load.given_time), to_text(load.given_time))});
  }
  return table;
}

nlohmann::ordered_json path_json(const Plan& plan, const PathSummary& path) {
  nlohmann::ordered_json json;
  json["ops"] = path.ops;
  json["given_time_s"] = to_seconds(path.given_time);
  json["path"] = nlohmann::ordered_json::array();
  for (const OpId op : path.path) {
    json["path"].push_back(plan.id(op));
  }
  return json;
}

Output show(Context& context, const PlanOptions& options) {
  constexpr std::size_t kShownDevices = 32;
  const Plan plan = load_plan(context, options);
  const PlanSummary summary = summarize(plan);
  Output output;
  output.rows_key = "devices";
  output.json["name"] = summary.name;
  output.json["topology"] = summary.topology;
  output.json["ops"] = summary.ops;
  output.json["edges"] = summary.edges;
  output.json["streams"] = summary.streams;
  output.json["groups"] = summary.groups;
  output.json["collectives"] = summary.collectives;
  for (std::size_t i = 0; i < summary.by_kind.size(); ++i) {
    output.json["by_kind"][std::string(kOpKindNames[i])] = summary.by_kind[i];
  }
  output.json["width"] = summary.width;
  output.json["levels"] = summary.levels;
  output.json["critical_by_count"] = path_json(plan, summary.critical_by_count);
  output.json["critical_by_duration"] = path_json(plan, summary.critical_by_duration);
  Table loads = load_table(summary);
  output.json["devices"] = to_json(loads);
  output.text = fmt::format("{}\n", summary.name.empty() ? options.plan : summary.name);
  if (context.format() == Format::kTable && loads.rows.size() > kShownDevices) {
    loads.note =
        fmt::format("{} more devices; --format csv lists all", loads.rows.size() - kShownDevices);
    loads.rows.resize(kShownDevices);
  }
  // csv prints the first table, people read the facts first.
  output.tables = {fact_table(plan, summary), std::move(loads)};
  if (context.format() == Format::kCsv) {
    std::swap(output.tables[0], output.tables[1]);
  }
  return output;
}

}  // namespace

Run add_plan_show(CLI::App& app) {
  const auto options = std::make_shared<PlanOptions>();
  add_plan_options(app, *options);
  return [options](Context& context) { return show(context, *options); };
}

}  // namespace twinrun::cli
