#include "cli/sweep_table.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "cli/breakdown_json.h"

namespace twinrun::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Figure {
  const char* key;
  const char* title;
  int decimals;
  double scale;  // from the JSON's unit to the table's
  int better;    // 1: more is better, −1: less, 0: neither
};
constexpr std::array<Figure, 8> kFigures = {{
    {"step_s", "step ms", 2, 1e3, -1},
    {"samples_per_s", "samples/s", 1, 1, 1},
    {"t1_s", "t1 ms", 2, 1e3, 0},
    {"t2_s", "t2 ms", 2, 1e3, 0},
    {"exposed_communication_s", "exposed ms", 2, 1e3, -1},
    {"peak_bytes", "peak GiB", 2, 1.0 / (1 << 30), -1},
    {"devices", "devices", 0, 1, 0},
    {"global_batch_size", "batch", 0, 1, 0},
}};

bool has_result(const Json& point) { return !point.is_null() && point.contains("step_s"); }

// Whether a is at least as good as b in all of step per sample, memory and devices, and better in
// one.
bool beats(const Json& a, const Json& b) {
  const auto values = [](const Json& point) {
    return std::array<double, 3>{-point["samples_per_s"].get<double>(),
                                 point["peak_bytes"].get<double>(), point["devices"].get<double>()};
  };
  const auto x = values(a);
  const auto y = values(b);
  bool better = false;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] > y[i]) {
      return false;
    }
    better = better || x[i] < y[i];
  }
  return better;
}

void mark_pareto(std::vector<Json>& points) {
  for (Json& point : points) {
    if (has_result(point)) {
      point["pareto"] =
          point["fits"].get<bool>() &&
          std::none_of(points.begin(), points.end(), [&](const Json& other) {
            return has_result(other) && other["fits"].get<bool>() && beats(other, point);
          });
    }
  }
}

std::string set_text(const Json& point) {
  std::string text;
  for (const auto& [path, value] : point["set"].items()) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", path, value.get<std::string>());
  }
  return text;
}

// The best of the points that fit.
Json best_points(const std::vector<Json>& points) {
  Json best = Json::object();
  for (const Figure& figure : kFigures) {
    const Json* chosen = nullptr;
    for (const Json& point : points) {
      if (figure.better == 0 || !has_result(point) || !point["fits"].get<bool>()) {
        continue;
      }
      const double value = point[figure.key].get<double>() * figure.better;
      if (chosen == nullptr || value > (*chosen)[figure.key].get<double>() * figure.better) {
        chosen = &point;
      }
    }
    if (chosen != nullptr) {
      best[figure.key] = {{"point", (*chosen)["point"]},
                          {"set", (*chosen)["set"]},
                          {"value", (*chosen)[figure.key]}};
    }
  }
  return best;
}

std::vector<Cell> row_of(const SweepResult& result, const Json& point) {
  std::vector<Cell> row;
  for (const SweepAxis& axis : result.axes) {
    row.emplace_back(point["set"][axis.path].get<std::string>());
  }
  for (const Figure& figure : kFigures) {
    const bool known = has_result(point) && point[figure.key].is_number();
    if (!known) {
      row.emplace_back();
      continue;
    }
    const double value = point[figure.key].get<double>();
    row.emplace_back(Cell::Value{value},
                     fmt::format("{:.{}f}", value * figure.scale, figure.decimals));
  }
  row.emplace_back(has_result(point) ? (point["fits"].get<bool>() ? "yes" : "no") : "-");
  row.emplace_back(has_result(point) && point.value("pareto", false) ? "*" : "");
  row.emplace_back(point.value("error", ""));
  return row;
}

Table table_of(const SweepResult& result, const std::vector<Json>& points) {
  Table table;
  for (const SweepAxis& axis : result.axes) {
    const std::size_t dot = axis.path.rfind('.');
    table.columns.push_back(
        {axis.path, axis.path.substr(dot == std::string::npos ? 0 : dot + 1), Align::kRight});
  }
  for (const Figure& figure : kFigures) {
    table.columns.push_back({figure.key, figure.title, Align::kRight});
  }
  table.columns.push_back({"fits"});
  table.columns.push_back({"pareto", "best trade"});
  table.columns.push_back({"error", "why not"});
  for (const Json& point : points) {
    table.rows.push_back(row_of(result, point));
  }
  return table;
}

}  // namespace

void add_figures(const JobFigures& figures, Json& point) {
  point["devices"] = figures.devices;
  point["local_batch_size"] = figures.local_batch;
  point["global_batch_size"] = figures.global_batch;
  point["step_s"] = figures.step_s;
  point["samples_per_s"] = figures.samples_per_s;
  point["t1_s"] = figures.t1_s;
  point["t2_s"] = figures.t2_s ? Json(*figures.t2_s) : Json(nullptr);
  point["exposed_communication_s"] = figures.exposed_s;
  point["peak_bytes"] = figures.peak_bytes;
  point["capacity_bytes"] =
      figures.capacity_bytes > 0 ? Json(figures.capacity_bytes) : Json(nullptr);
  point["fits"] = figures.fits;
  if (figures.staleness_mean) {
    point["staleness_mean"] = *figures.staleness_mean;
  }
  point["breakdown_s"] = breakdown_json(figures.parts);
}

Output sweep_output(const SweepResult& result) {
  std::vector<Json> points;
  std::size_t failed = 0;
  for (const Json& point : result.points) {
    if (!point.is_null()) {
      points.push_back(point);
      failed += has_result(point) ? 0U : 1U;
    }
  }
  mark_pareto(points);
  Output output;
  output.rows_key = "points";
  output.json["schema"] = "twinrun/sweep/1";
  output.json["points"] = points;
  output.json["best"] = best_points(points);
  Table table = table_of(result, points);
  table.note = fmt::format("\n{} points, {} simulated now, {} failed", points.size(),
                           result.simulated, failed);
  for (const auto& [key, best] : output.json["best"].items()) {
    table.note += fmt::format("\nbest {}: {} ({})", key, set_text(best), best["value"].dump());
  }
  output.tables.push_back(std::move(table));
  output.exit_code = failed > 0 ? kPartial : kSuccess;
  return output;
}

}  // namespace twinrun::cli
