#include "report/comparison_data.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/units.h"

namespace twinrun::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostOps = 200;
constexpr std::size_t kMostOfOthers = 60;

constexpr std::array<std::string_view, 4> kUnitWords = {"seconds", "per second", "percent",
                                                        "bytes"};

Json known(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

std::string signed_time(double seconds) {
  const Time size{std::llround(std::abs(seconds) * 1e12)};
  return fmt::format("{}{}", seconds < 0 ? "−" : "+", to_text(size));
}

double on_path_difference(const GroupDifference& group) {
  return group.b.on_path_s - group.a.on_path_s;
}

// "… a step: forward +1.2 ms, waiting −30 us."
std::string summary(const Comparison& comparison) {
  constexpr double kWorthSaying = 0.05;  // of the difference
  const double difference = comparison.step_difference_s;
  if (difference == 0) {
    return "The steps are equally long.";
  }
  std::vector<GroupDifference> phases = comparison.phases;
  std::stable_sort(phases.begin(), phases.end(), [](const auto& a, const auto& b) {
    return std::abs(on_path_difference(a)) > std::abs(on_path_difference(b));
  });
  std::vector<std::string> parts;
  for (const GroupDifference& phase : phases) {
    const double part = on_path_difference(phase);
    if (std::abs(part) > kWorthSaying * std::abs(difference) && parts.size() < 4) {
      parts.push_back(fmt::format("{} {}", phase.name, signed_time(part)));
    }
  }
  return fmt::format("The second differs by {} a step. On the critical path: {}.",
                     signed_time(difference), fmt::join(parts, ", "));
}

std::string parting_sentence(const PathParting& parting) {
  if (parting.are_same) {
    return "The critical paths of the last steps are the same.";
  }
  const auto next = [](const std::string& op) { return op.empty() ? "its end" : op; };
  return fmt::format(
      "The critical paths of the last steps part {}: the first goes on with {}, the "
      "second with {}{}.",
      parting.after.empty() ? "at once" : "after " + parting.after, next(parting.next_in_a),
      next(parting.next_in_b),
      parting.meet_at.empty() ? "" : ", and meet again at " + parting.meet_at);
}

Json metrics_json(const Comparison& comparison) {
  Json out = Json::array();
  for (const MetricDifference& metric : comparison.metrics) {
    out.push_back({{"name", metric.name},
                   {"unit", kUnitWords[static_cast<std::size_t>(metric.unit)]},
                   {"a", known(metric.a)},
                   {"b", known(metric.b)},
                   {"a_deviation", metric.a_deviation},
                   {"b_deviation", metric.b_deviation},
                   {"difference_pct", known(metric.difference_pct)}});
  }
  return out;
}

Json phases_json(const Comparison& comparison) {
  Json out = Json::array();
  for (const GroupDifference& phase : comparison.phases) {
    out.push_back({{"name", phase.name},
                   {"a_on_path_s", phase.a.on_path_s},
                   {"b_on_path_s", phase.b.on_path_s},
                   {"a_working_s", phase.a.working_s},
                   {"b_working_s", phase.b.working_s},
                   {"a_waiting_s", phase.a.waiting_s},
                   {"b_waiting_s", phase.b.waiting_s}});
  }
  return out;
}

Json ops_json(const Comparison& comparison) {
  Json out = Json::array();
  for (std::size_t i = 0; i < std::min(comparison.ops.size(), kMostOps); ++i) {
    const OpDifference& op = comparison.ops[i];
    out.push_back({{"op", op.name},
                   {"phase", name_of(op.phase)},
                   {"a_s", op.a_s},
                   {"b_s", op.b_s},
                   {"a_waiting_s", op.a_waiting_s},
                   {"b_waiting_s", op.b_waiting_s},
                   {"difference_s", op.b_s - op.a_s},
                   {"on_path_s", op.on_path_s},
                   {"share_of_error_pct", known(op.share_pct)}});
  }
  return out;
}

Json waits_json(const Comparison& comparison) {
  Json out = Json::array();
  for (std::size_t i = 0; i < std::min(comparison.waits.size(), kMostOfOthers); ++i) {
    const WaitDifference& wait = comparison.waits[i];
    out.push_back({{"before", wait.before},
                   {"a_s", wait.a_s},
                   {"b_s", wait.b_s},
                   {"on_path_s", wait.on_path_s},
                   {"share_of_error_pct", known(wait.share_pct)}});
  }
  return out;
}

Json collectives_json(const Comparison& comparison) {
  Json out = Json::array();
  const auto times = [](const std::optional<CollectiveTimes>& one) -> Json {
    if (!one) {
      return nullptr;
    }
    return {{"start_s", one->start_s}, {"time_s", one->time_s}, {"waiting_s", one->waiting_s}};
  };
  const std::vector<CollectiveDifference>& all = comparison.collectives;
  for (std::size_t i = 0; i < std::min(all.size(), kMostOfOthers); ++i) {
    const CollectiveDifference& one = all[i];
    out.push_back({{"name", one.a   ? one.a->name
                            : one.b ? one.b->name
                                    : ""},
                   {"kind", name_of(one.kind)},
                   {"bytes", one.bytes},
                   {"ranks", one.ranks},
                   {"a", times(one.a)},
                   {"b", times(one.b)}});
  }
  return out;
}

Json capped(const std::vector<std::string>& names, std::size_t left_out) {
  const std::size_t shown = std::min(names.size(), kMostOfOthers);
  return {{"names", std::vector<std::string>(names.begin(),
                                             names.begin() + static_cast<std::ptrdiff_t>(shown))},
          {"count", names.size() + left_out}};
}

}  // namespace

Json comparison_data(const Comparison& comparison) {
  Json out;
  out["summary"] = summary(comparison);
  out["step_difference_s"] = comparison.step_difference_s;
  out["metrics"] = metrics_json(comparison);
  out["phases"] = phases_json(comparison);
  out["ops"] = ops_json(comparison);
  out["ops_in_all"] = comparison.ops.size() + comparison.ops_left_out;
  out["waits"] = waits_json(comparison);
  out["waiting_difference_s"] = comparison.waiting_difference_s;
  out["waiting_share_pct"] = known(comparison.waiting_share_pct);
  out["collectives"] = collectives_json(comparison);
  out["collectives_in_all"] = comparison.collectives.size();
  out["parting"] = parting_sentence(comparison.paths.parting);
  out["only_in_a"] = capped(comparison.only_in_a, comparison.only_in_a_left_out);
  out["only_in_b"] = capped(comparison.only_in_b, comparison.only_in_b_left_out);
  return out;
}

}  // namespace twinrun::report
