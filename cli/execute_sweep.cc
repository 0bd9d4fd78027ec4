#include "cli/execute_sweep.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "cli/sweep_grid.h"
#include "core/base/diagnostics.h"
#include "core/io/source.h"

namespace twinrun::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kUsualSteps = 500;  // to give up after
constexpr std::size_t kSmoothed = 10;      // losses in a mean

struct MeasuredPoint {
  std::string set;  // training.global_batch_size=8
  std::int64_t batch = 0;
  std::int64_t steps = 0;  // to the target; 0: it was not reached
  double last_loss = 0;
  double step_s = 0;
};

MeasuredPoint measure(Context& context,
                      RunArguments arguments,
                      const std::vector<JobOverride>& overrides,
                      double target,
                      const ExecuteInput& execute) {
  MeasuredPoint point;
  for (const JobOverride& change : overrides) {
    arguments.set.push_back(change.path + "=" + change.value);
    point.set += (point.set.empty() ? "" : " ") + arguments.set.back();
  }
  arguments.steps = arguments.steps > 0 ? arguments.steps : kUsualSteps;
  const RunInput input = read_run_input(context, arguments);
  if (!input.job || !input.plan.workload().is_trained()) {
    throw CannotRun(input.job ? "nothing is learned: " + input.job->why_not_trained
                              : "a sweep varies the keys of a job, and a plan has none");
  }
  const exec::Execution run = execute(input);
  if (run.outcome.failure) {
    throw CannotRun(point.set + ": " + run.outcome.failure->message);
  }
  point.batch = input.plan.workload().global_batch;
  point.steps = steps_to_target(run.losses, target);
  point.last_loss = run.losses.back();
  point.step_s = static_cast<double>(run.outcome.trace.makespan.ps) * 1e-12 /
                 static_cast<double>(run.losses.size());
  return point;
}

// Of each batch the fewest steps: other keys of the grid (a learning rate) are for it to choose.
Json best_rows(const std::vector<MeasuredPoint>& points) {
  std::map<std::int64_t, const MeasuredPoint*> best;
  for (const MeasuredPoint& point : points) {
    const MeasuredPoint*& known = best[point.batch];
    if (point.steps > 0 && (known == nullptr || point.steps < known->steps)) {
      known = &point;
    }
  }
  Json rows = Json::array();
  for (const auto& [batch, point] : best) {
    if (point != nullptr) {
      rows.push_back({{"global_batch", batch},
                      {"steps", point->steps},
                      {"samples", batch * point->steps},
                      {"step_s", point->step_s},
                      {"set", point->set}});
    }
  }
  return rows;
}

Table table_of(const std::vector<MeasuredPoint>& points) {
  Table table;
  table.columns = {{"set", "", Align::kLeft},           {"global_batch", "batch", Align::kRight},
                   {"steps", "steps", Align::kRight},   {"samples", "samples", Align::kRight},
                   {"last_loss", "", Align::kRight, 4}, {"step_s", "step ms", Align::kRight}};
  for (const MeasuredPoint& point : points) {
    const bool is_reached = point.steps > 0;
    table.rows.push_back({point.set, point.batch, is_reached ? Cell(point.steps) : Cell(),
                          is_reached ? Cell(point.steps * point.batch) : Cell(), point.last_loss,
                          Cell(point.step_s, fmt::format("{:.3f}", point.step_s * 1e3))});
  }
  return table;
}

}  // namespace

std::int64_t steps_to_target(std::span<const double> losses, double target) {
  const std::size_t window = std::min(kSmoothed, losses.size());
  double sum = 0;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    sum += losses[i] - (i >= window ? losses[i - window] : 0);
    if (i + 1 >= window && sum / static_cast<double>(window) <= target) {
      return static_cast<std::int64_t>(i + 1);
    }
  }
  return 0;
}

Output run_execute_sweep(Context& context,
                         const RunArguments& arguments,
                         const StepsToTargetSweep& sweep,
                         const ExecuteInput& execute) {
  std::vector<SweepAxis> axes;
  std::transform(sweep.axes.begin(), sweep.axes.end(), std::back_inserter(axes), parse_axis);
  std::vector<MeasuredPoint> points;
  for (std::size_t i = 0; i < point_count(axes); ++i) {
    points.push_back(
        measure(context, arguments, point_overrides(axes, i), sweep.target_loss, execute));
    context.say(fmt::format("{}: {}", points.back().set,
                            points.back().steps > 0 ? fmt::format("{} steps", points.back().steps)
                                                    : fmt::format("not reached, loss {:.4g}",
                                                                  points.back().last_loss)));
  }
  Output output;
  output.json["target_loss"] = sweep.target_loss;
  output.json["rows"] = best_rows(points);
  output.rows_key = "rows";
  output.text = fmt::format("steps until the mean loss of {} is at most {:g}\n", kSmoothed,
                            sweep.target_loss);
  output.tables = {table_of(points)};
  if (!sweep.file.empty()) {
    write_file(sweep.file, output.json.dump(2) + "\n", true);
    context.say(fmt::format("rows written to {0}; next: twinrun explain JOB --time-to-accuracy {0}",
                            sweep.file));
  }
  return output;
}

}  // namespace twinrun::cli
