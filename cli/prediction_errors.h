#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace twinrun::cli {

// One row with its prediction.
struct ComparedRow {
  std::string file;
  std::string row;
  std::string group;  // alternatives have one in common; "" none
  double predicted = 0;
  double measured = 0;
  bool more_is_better = false;
  std::string because;

  [[nodiscard]] double error_pct() const { return 100 * (predicted / measured - 1); }
};

struct ErrorSummary {
  std::size_t rows = 0;
  double median_abs_error_pct = 0;
  double p90_abs_error_pct = 0;
  std::optional<std::size_t> worst;  // which of the rows
  std::size_t pairs = 0;             // of alternatives that differ by more than 10 %
  std::size_t pairs_right = 0;       // … whose better one was named
  // Spearman's: 1 when predictions put the rows into the order of the measurements; not known for
  // less than three rows.
  std::optional<double> rank_correlation;
};

// Alternatives whose measurements differ by less are no choice worth making.
inline constexpr double kWorthChoosing = 1.10;

ErrorSummary summarize(std::span<const ComparedRow> rows);

}  // namespace twinrun::cli
