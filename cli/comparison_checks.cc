#include "cli/comparison_checks.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "core/base/diagnostics.h"
#include "core/base/did_you_mean.h"

namespace twinrun::cli {
namespace {

enum class Rule { kOfItself, kIfItMatters, kOnlyWhenNamed, kPoints };

struct CheckedMetric {
  std::string_view name;
  Rule rule;
};
constexpr std::array kChecked = {
    CheckedMetric{"step_s", Rule::kOfItself},
    CheckedMetric{"samples_per_s", Rule::kOnlyWhenNamed},
    CheckedMetric{"t1_s", Rule::kOfItself},
    CheckedMetric{"t2_s", Rule::kOfItself},
    CheckedMetric{"communication_s", Rule::kIfItMatters},
    CheckedMetric{"exposed_communication_s", Rule::kIfItMatters},
    CheckedMetric{"overlap_pct", Rule::kPoints},
    CheckedMetric{"peak_memory_bytes", Rule::kOfItself},
};

constexpr double kShareOfStepThatMatters = 0.01;

std::string_view text_of(Rule rule) {
  switch (rule) {
    case Rule::kOfItself:
    case Rule::kOnlyWhenNamed:
      return "of a";
    case Rule::kIfItMatters:
      return "of a, and more than 1 % of its step";
    case Rule::kPoints:
      return "points";
  }
  return "";
}

std::optional<double> percentage(std::string_view text) {
  if (text.ends_with('%')) {
    text.remove_suffix(1);
  }
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  return is_number && std::isfinite(value) && value >= 0 ? std::optional(value) : std::nullopt;
}

// A named limit goes before the common one, a later before an earlier.
const CompareLimit* limit_of(std::string_view metric, const std::vector<CompareLimit>& limits) {
  const CompareLimit* found = nullptr;
  for (const CompareLimit& limit : limits) {
    const bool is_named = limit.metric == metric;
    const bool is_common = limit.metric.empty() && (found == nullptr || found->metric.empty());
    found = is_named || is_common ? &limit : found;
  }
  return found;
}

bool is_too_far(const MetricDifference& metric, Rule rule, double limit_pct, double step_s) {
  if (!metric.a || !metric.b) {
    return true;  // asked for by name and not known
  }
  const double difference = std::abs(*metric.b - *metric.a);
  if (rule == Rule::kIfItMatters && difference <= kShareOfStepThatMatters * step_s) {
    return false;
  }
  return metric.difference_pct ? std::abs(*metric.difference_pct) > limit_pct : difference > 0;
}

const MetricDifference* metric_named(const Comparison& comparison, std::string_view name) {
  const auto found = std::find_if(comparison.metrics.begin(), comparison.metrics.end(),
                                  [&](const auto& metric) { return metric.name == name; });
  return found == comparison.metrics.end() ? nullptr : &*found;
}

}  // namespace

std::vector<CompareLimit> parse_limits(const std::vector<std::string>& arguments) {
  std::vector<CompareLimit> limits;
  for (const std::string& argument : arguments) {
    const std::size_t equals = argument.find('=');
    CompareLimit limit;
    limit.metric = equals == std::string::npos ? "" : argument.substr(0, equals);
    const auto value =
        percentage(std::string_view(argument).substr(equals == std::string::npos ? 0 : equals + 1));
    if (!value) {
      throw UsageError(fmt::format("--fail-above {}: not a percentage", argument),
                       "write 10%, or step_s=5% for one metric");
    }
    limit.pct = *value;
    const auto is_it = [&](const CheckedMetric& metric) { return metric.name == limit.metric; };
    if (!limit.metric.empty() && std::none_of(kChecked.begin(), kChecked.end(), is_it)) {
      std::vector<std::string> names;
      names.reserve(kChecked.size());
      for (const CheckedMetric& metric : kChecked) {
        names.emplace_back(metric.name);
      }
      throw UsageError(fmt::format("--fail-above {}: no such metric", argument),
                       did_you_mean(limit.metric, names));
    }
    limits.push_back(std::move(limit));
  }
  return limits;
}

std::vector<CompareCheck> check_comparison(const Comparison& comparison,
                                           const std::vector<CompareLimit>& limits) {
  std::vector<CompareCheck> out;
  const MetricDifference* const step = metric_named(comparison, "step_s");
  const double step_s = step == nullptr ? 0 : step->a.value_or(0);
  for (const CheckedMetric& checked : kChecked) {
    const CompareLimit* const limit = limit_of(checked.name, limits);
    const MetricDifference* const metric = metric_named(comparison, checked.name);
    if (limit == nullptr || metric == nullptr) {
      continue;
    }
    const bool is_named = !limit->metric.empty();
    // A run of which no step can be compared has not passed.
    const bool is_needed = is_named || checked.name == "step_s";
    const bool is_known = metric->a && metric->b;
    const bool is_common = checked.rule == Rule::kOfItself || checked.rule == Rule::kIfItMatters;
    if ((!is_known && !is_needed) || (!is_common && !is_named)) {
      continue;
    }
    out.push_back({checked.name, limit->pct, metric->difference_pct,
                   !is_too_far(*metric, checked.rule, limit->pct, step_s), text_of(checked.rule)});
  }
  return out;
}

}  // namespace twinrun::cli
