#include "cli/prediction_errors.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace twinrun::cli {
namespace {

// Linear between the values around the place, as numpy does.
double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return std::lerp(values[below], values[above], place - static_cast<double>(below));
}

// Ranks from 0; equal values share the mean of theirs.
std::vector<double> ranks_of_values(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    while (end < order.size() && values[order[end]] == values[order[begin]]) {
      ++end;
    }
    for (std::size_t i = begin; i < end; ++i) {
      ranks[order[i]] = static_cast<double>(begin + end - 1) / 2;
    }
    begin = end;
  }
  return ranks;
}

std::optional<double> correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const double mean = static_cast<double>(a.size() - 1) / 2;  // of ranks
  double ab = 0;
  double aa = 0;
  double bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean) * (b[i] - mean);
    aa += (a[i] - mean) * (a[i] - mean);
    bb += (b[i] - mean) * (b[i] - mean);
  }
  return aa > 0 && bb > 0 ? std::optional(ab / std::sqrt(aa * bb)) : std::nullopt;
}

// Of the better and the worse alternative, was the better one predicted to be so?
void count_pair(const ComparedRow& a, const ComparedRow& b, ErrorSummary& summary) {
  const double larger = std::max(a.measured, b.measured);
  const double smaller = std::min(a.measured, b.measured);
  if (larger <= kWorthChoosing * smaller) {
    return;
  }
  ++summary.pairs;
  const bool measured_more = a.measured > b.measured;
  const bool is_right = measured_more ? a.predicted > b.predicted : a.predicted < b.predicted;
  summary.pairs_right += is_right ? 1 : 0;
}

void count_pairs(std::span<const ComparedRow> rows, ErrorSummary& summary) {
  std::map<std::pair<std::string, std::string>, std::vector<const ComparedRow*>> groups;
  for (const ComparedRow& row : rows) {
    if (!row.group.empty()) {
      groups[{row.file, row.group}].push_back(&row);
    }
  }
  for (const auto& [name, members] : groups) {
    for (std::size_t i = 0; i < members.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        count_pair(*members[i], *members[j], summary);
      }
    }
  }
}

}  // namespace

ErrorSummary summarize(std::span<const ComparedRow> rows) {
  ErrorSummary summary;
  summary.rows = rows.size();
  if (rows.empty()) {
    return summary;
  }
  std::vector<double> errors;
  std::vector<double> predicted;
  std::vector<double> measured;
  for (const ComparedRow& row : rows) {
    errors.push_back(std::abs(row.error_pct()));
    predicted.push_back(row.predicted);
    measured.push_back(row.measured);
  }
  summary.worst =
      static_cast<std::size_t>(std::max_element(errors.begin(), errors.end()) - errors.begin());
  summary.median_abs_error_pct = quantile(errors, 0.5);
  summary.p90_abs_error_pct = quantile(errors, 0.9);
  if (rows.size() >= 3) {
    summary.rank_correlation = correlation(ranks_of_values(predicted), ranks_of_values(measured));
  }
  count_pairs(rows, summary);
  return summary;
}

}  // namespace twinrun::cli
