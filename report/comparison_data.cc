#include "report/comparison_data.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace twinrun::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostOps = 200;
constexpr std::size_t kMostOfOthers = 60;

constexpr std::array<std::string_view, 4> kUnitWords = {"seconds", "per second", "percent",
                                                        "bytes"};

Json known(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

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

Json names_json(const Comparison& comparison) {
  Json out = Json::array();
  for (std::size_t i = 0; i < std::min(comparison.names.size(), kMostOps); ++i) {
    const NameDifference& name = comparison.names[i];
    out.push_back({{"name", name.name},
                   {"ranks", name.ranks},
                   {"a_s", name.a_s},
                   {"b_s", name.b_s},
                   {"on_path_s", name.on_path_s},
                   {"share_of_error_pct", known(name.share_pct)},
                   {"most_on", name.is_mostly_on_one ? Json(name.most_on) : Json(nullptr)}});
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

Json comparison_data(const Comparison& comparison, const std::vector<std::string>& sentences) {
  Json out;
  out["sentences"] = sentences;
  out["step_difference_s"] = comparison.step_difference_s;
  out["metrics"] = metrics_json(comparison);
  out["phases"] = phases_json(comparison);
  out["ops"] = ops_json(comparison);
  out["ops_in_all"] = comparison.ops.size() + comparison.ops_left_out;
  out["names"] = names_json(comparison);
  out["names_in_all"] = comparison.names.size() + comparison.names_left_out;
  out["waits"] = waits_json(comparison);
  out["waiting_difference_s"] = comparison.waiting_difference_s;
  out["waiting_share_pct"] = known(comparison.waiting_share_pct);
  out["collectives"] = collectives_json(comparison);
  out["collectives_in_all"] = comparison.collectives.size();
  out["only_in_a"] = capped(comparison.only_in_a, comparison.only_in_a_left_out);
  out["only_in_b"] = capped(comparison.only_in_b, comparison.only_in_b_left_out);
  return out;
}

}  // namespace twinrun::report
