#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "cli/breakdown_json.h"
#include "cli/comparison_cells.h"

// Which tables a comparison has, and those that say where the step went.

namespace twinrun::cli {
namespace {

// ---- metrics

std::string value_text(double value, MetricUnit unit) {
  switch (unit) {
    case MetricUnit::kSeconds:
      return time_shown(value);
    case MetricUnit::kPerSecond:
      return fmt::format("{:.5g}", value);
    case MetricUnit::kPercent:
      return fmt::format("{:.1f} %", value);
    case MetricUnit::kBytes:
      return to_text(Bytes{std::llround(value)});
  }
  return "";
}

Cell metric_cell(std::optional<double> value, double deviation, MetricUnit unit) {
  if (!value) {
    return {};
  }
  std::string text = value_text(*value, unit);
  if (deviation > 0) {
    text += " ± " + value_text(deviation, unit);
  }
  return {*value, text};
}

Cell metric_difference(const MetricDifference& metric) {
  if (!metric.difference_pct || metric.unit != MetricUnit::kPercent) {
    return percent_cell(metric.difference_pct);
  }
  return {*metric.difference_pct, fmt::format("{:+.1f} pt", *metric.difference_pct)};
}

std::string people_name(std::string_view metric) {
  std::string name(metric);
  for (const std::string_view unit : {"_s", "_pct", "_bytes"}) {
    if (name.ends_with(unit) && name != "samples_per_s") {
      name.resize(name.size() - unit.size());
      break;
    }
  }
  std::replace(name.begin(), name.end(), '_', ' ');
  return name == "samples per s" ? "samples/s" : name;
}

std::string steps_title(const std::string& title, const RunSummary& run) {
  return run.steps == 1 ? title : fmt::format("{} ({} steps)", title, run.steps);
}

Table metrics_table(const Comparison& comparison, const CompareNames& names) {
  Table table;
  table.columns = {{"name", "metric"},
                   number_column("a", steps_title(names.a_title, comparison.a)),
                   number_column("b", steps_title(names.b_title, comparison.b)),
                   number_column("difference_pct", "difference")};
  for (const MetricDifference& metric : comparison.metrics) {
    if (metric.a || metric.b) {
      table.rows.push_back({Cell(std::string(metric.name), people_name(metric.name)),
                            metric_cell(metric.a, metric.a_deviation, metric.unit),
                            metric_cell(metric.b, metric.b_deviation, metric.unit),
                            metric_difference(metric)});
    }
  }
  return table;
}

// ---- where the step goes

Table breakdown_table(const Comparison& comparison, const CompareNames& names) {
  constexpr double kShown = 1e-5;  // of the step; less is rounding
  Table table;
  table.columns = {{"part", "where the step goes"},
                   number_column("a_s", names.a_title),
                   number_column("b_s", names.b_title),
                   number_column("difference_s", "difference")};
  const auto a = breakdown_json(comparison.a_breakdown);
  const auto b = breakdown_json(comparison.b_breakdown);
  for (const auto& [part, seconds] : a.items()) {
    const double of_a = seconds.get<double>();
    const double of_b = b[part].get<double>();
    if (std::max(of_a, of_b) >= kShown * std::max(comparison.a.step_s, comparison.b.step_s)) {
      std::string words = part;
      std::replace(words.begin(), words.end(), '_', ' ');
      table.rows.push_back(
          {Cell(part, words), time_cell(of_a), time_cell(of_b), difference_cell(of_b - of_a)});
    }
  }
  return table;
}

Table group_table(const std::string& title, const std::vector<GroupDifference>& groups) {
  Table table;
  table.columns = {{"name", title},
                   number_column("a_working_s", "working A"),
                   number_column("b_working_s", "B"),
                   number_column("working_pct", "difference"),
                   number_column("a_waiting_s", "waiting A"),
                   number_column("b_waiting_s", "B"),
                   number_column("a_on_path_s", "critical path A"),
                   number_column("b_on_path_s", "B")};
  for (const GroupDifference& group : groups) {
    const bool is_nothing = group.a.working_s + group.b.working_s + group.a.waiting_s +
                                group.b.waiting_s + group.a.on_path_s + group.b.on_path_s ==
                            0;
    if (is_nothing) {
      continue;  // markers
    }
    const bool has_ops = group.name != kWaitingGroup;
    const auto only_of_ops = [&](Cell cell) { return has_ops ? std::move(cell) : Cell(""); };
    table.rows.push_back(
        {group.name, only_of_ops(time_cell(group.a.working_s)),
         only_of_ops(time_cell(group.b.working_s)),
         only_of_ops(percent_cell(change_pct(group.a.working_s, group.b.working_s))),
         only_of_ops(time_cell(group.a.waiting_s)), only_of_ops(time_cell(group.b.waiting_s)),
         time_cell(group.a.on_path_s), time_cell(group.b.on_path_s)});
  }
  return table;
}

// ---- the table of tables

Table phases_table(const Comparison& comparison, const CompareNames& /*names*/, bool /*is_whole*/) {
  return group_table("phase", comparison.phases);
}
Table kinds_table(const Comparison& comparison, const CompareNames& /*names*/, bool /*is_whole*/) {
  return group_table("kind", comparison.kinds);
}
Table metrics_part(const Comparison& comparison, const CompareNames& names, bool /*is_whole*/) {
  return metrics_table(comparison, names);
}
Table breakdown_part(const Comparison& comparison, const CompareNames& names, bool /*is_whole*/) {
  return breakdown_table(comparison, names);
}

// Whether a part is shown to people who did not ask for it.
bool always(const Comparison& /*comparison*/) { return true; }
bool never(const Comparison& /*comparison*/) { return false; }
bool when_ops_explain(const Comparison& comparison) { return is_explained_by_ops(comparison); }
bool when_waiting_matters(const Comparison& comparison) {
  constexpr double kMatters = 10;
  return is_explained_by_ops(comparison) &&
         std::abs(comparison.waiting_share_pct.value_or(0)) >= kMatters;
}

struct Part {
  std::string_view name;
  Table (*make)(const Comparison& comparison, const CompareNames& names, bool is_whole);
  bool (*is_shown)(const Comparison& comparison);
};
constexpr std::array kParts = {
    Part{"metric", metrics_part, always},
    Part{"breakdown", breakdown_part, always},
    Part{"phase", phases_table, always},
    Part{"kind", kinds_table, never},
    Part{"layer", layers_table, when_ops_explain},
    Part{"op", ops_table, never},
    Part{"wait", waits_table, when_waiting_matters},
    Part{"collective", collectives_table, always},
    Part{"link", links_table, always},
    Part{"rank", devices_table, always},
    Part{"only", lonely_table, always},
};
constexpr auto kPartNames = [] {
  std::array<std::string_view, kParts.size()> names{};
  std::transform(kParts.begin(), kParts.end(), names.begin(),
                 [](const Part& part) { return part.name; });
  return names;
}();

}  // namespace

std::span<const std::string_view> comparison_parts() { return kPartNames; }

std::vector<Table> comparison_tables(const Comparison& comparison,
                                     const CompareNames& names,
                                     const std::vector<std::string>& parts) {
  std::vector<Table> out;
  for (const std::string& wanted : parts) {
    for (const Part& part : kParts) {
      if (part.name == wanted) {
        out.push_back(part.make(comparison, names, true));
      }
    }
  }
  for (const Part& part : kParts) {
    if (parts.empty() && part.is_shown(comparison)) {
      Table table = part.make(comparison, names, false);
      if (!table.rows.empty()) {
        out.push_back(std::move(table));
      }
    }
  }
  return out;
}

}  // namespace twinrun::cli
