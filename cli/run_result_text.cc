#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "cli/run_result.h"

// A result as people read it: a few lines, then tables that stay short whatever the cluster.

namespace twinrun::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostRows = 8;

std::string time_text(const Json& seconds) {
  return seconds.is_null() ? "-" : to_text(Time{std::llround(seconds.get<double>() * 1e12)});
}

Cell time_cell(const Json& seconds) {
  return seconds.is_null() ? Cell() : Cell(seconds.get<double>(), time_text(seconds));
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::vector<Cell> device_row(const Json& json, std::size_t i) {
  const Json& device = json["devices_detail"][i];
  const bool has_memory = i < json["memory"].size() && json["memory"][i]["peak_bytes"] != 0;
  const std::int64_t peak = has_memory ? json["memory"][i]["peak_bytes"].get<std::int64_t>() : 0;
  return {
      device["device"].get<std::string>(),  time_cell(device["compute_s"]),
      time_cell(device["communication_s"]), time_cell(device["exposed_s"]),
      time_cell(device["idle_s"]),          has_memory ? Cell(peak, to_text(Bytes{peak})) : Cell()};
}

bool looks_alike(const std::vector<Cell>& a, const std::vector<Cell>& b) {
  return std::equal(a.begin() + 1, a.end(), b.begin() + 1,
                    [](const Cell& x, const Cell& y) { return x.shown == y.shown; });
}

// For people few rows, and neighbours that look alike share one: gpu0 … gpu7.
Table device_table(const Json& json, bool for_people) {
  Table table;
  table.columns = {{"device"},
                   {"compute_s", "compute", Align::kRight},
                   {"communication_s", "communication", Align::kRight},
                   {"exposed_s", "exposed", Align::kRight},
                   {"idle_s", "idle", Align::kRight},
                   {"peak_bytes", "peak memory", Align::kRight}};
  const std::size_t devices = json["devices_detail"].size();
  for (std::size_t i = 0; i < devices; ++i) {
    std::vector<Cell> row = device_row(json, i);
    if (for_people && !table.rows.empty() && looks_alike(table.rows.back(), row)) {
      Cell& first = table.rows.back().front();
      first.shown = fmt::format("{} … {}", std::get<std::string>(first.value),
                                std::get<std::string>(row.front().value));
      continue;
    }
    if (for_people && table.rows.size() == kMostRows) {
      table.note = fmt::format("… and {} more devices (--format json has all)", devices - i);
      break;
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table link_table(const Json& json) {
  std::vector<const Json*> links;
  std::size_t idle = 0;
  for (const Json& link : json["links"]) {
    if (link["carried_nothing"].get<bool>()) {
      ++idle;
    } else {
      links.push_back(&link);
    }
  }
  std::stable_sort(links.begin(), links.end(), [](const Json* a, const Json* b) {
    return (*a)["busy_pct"].get<double>() > (*b)["busy_pct"].get<double>();
  });
  Table table;
  table.columns = {{"link", "busiest links"},
                   {"bytes", "carried", Align::kRight},
                   {"busy_pct", "busy %", Align::kRight}};
  for (std::size_t i = 0; i < std::min(links.size(), kMostRows); ++i) {
    const double bytes = (*links[i])["bytes"].get<double>();
    const double busy = (*links[i])["busy_pct"].get<double>();
    table.rows.push_back({(*links[i])["link"].get<std::string>(),
                          Cell(bytes, to_text(Bytes{static_cast<std::int64_t>(bytes)})),
                          Cell(busy, fmt::format("{:.1f}", busy))});
  }
  table.note = fmt::format("{} of {} links carried nothing", idle, json["links"].size());
  return table;
}

Table path_table(const Json& json) {
  std::vector<const Json*> longest;
  for (const Json& op : json["critical_path"]) {
    longest.push_back(&op);
  }
  const auto took = [](const Json* op) {
    return (*op)["end_s"].get<double>() - (*op)["start_s"].get<double>();
  };
  std::stable_sort(longest.begin(), longest.end(),
                   [&](const Json* a, const Json* b) { return took(a) > took(b); });
  Table table;
  const Json& share = json["critical_path_share"];
  table.title = fmt::format(
      "critical path: {} ops · compute {} · communication {} · wait {}",
      json["critical_path"].size() + json["critical_path_left_out"].get<std::size_t>(),
      percent(share["compute"].get<double>()), percent(share["communication"].get<double>()),
      percent(share["wait"].get<double>()));
  table.columns = {
      {"op", "longest on it"}, {"device"}, {"kind"}, {"time_s", "time", Align::kRight}};
  for (std::size_t i = 0; i < std::min(longest.size(), kMostRows); ++i) {
    const Json& op = *longest[i];
    table.rows.push_back({op["op"].get<std::string>(), op["device"].get<std::string>(),
                          op["kind"].get<std::string>(), time_cell(Json(took(&op)))});
  }
  return table;
}

}  // namespace

std::string result_text(const RunFacts& facts, const Json& json) {
  std::string text =
      fmt::format("{} · {} ops on {} devices of {}\n",
                  facts.plan.text().name.empty() ? "plan" : facts.plan.text().name,
                  facts.plan.size(), facts.plan.device_count(), facts.topology.name());
  const std::size_t steps = json["steps"].get<std::size_t>();
  text += fmt::format(
      "makespan {}{}\n", time_text(json["makespan_s"]),
      steps > 1 ? fmt::format(" · {} steps of {}", steps, time_text(json["step_s"])) : "");
  text += fmt::format("t1 (compute) {} · t2 (communication alone) {}", time_text(json["t1_s"]),
                      time_text(json["t2_s"]));
  if (!json["t2_s"].is_null()) {
    text += fmt::format(" · max {} · sum {}", time_text(json["max_t1_t2_s"]),
                        time_text(json["sum_t1_t2_s"]));
  }
  text += fmt::format("\nexposed communication {}", time_text(json["exposed_communication_s"]));
  if (!json["overlap_pct"].is_null()) {
    text +=
        fmt::format(" · {:.1f} % of communication is hidden", json["overlap_pct"].get<double>());
  }
  return text + "\n";
}

std::vector<Table> result_tables(const Json& json, bool for_people) {
  std::vector<Table> tables = {device_table(json, for_people)};
  if (!json["links"].empty()) {  // what was executed went over links that nobody watched
    tables.push_back(link_table(json));
  }
  tables.push_back(path_table(json));
  return tables;
}

}  // namespace twinrun::cli
