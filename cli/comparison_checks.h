#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/trace/compare.h"

namespace twinrun::cli {

// A limit of --fail-above: "10%" for every metric that is checked, "step_s=5%" for one.
struct CompareLimit {
  std::string metric;  // "" for all
  double pct = 0;
};
// UsageError for what is no limit, or of a metric that there is not.
std::vector<CompareLimit> parse_limits(const std::vector<std::string>& arguments);

struct CompareCheck {
  std::string_view metric;
  double limit_pct = 0;
  std::optional<double> difference_pct;
  bool has_passed = true;
  std::string_view rule;
};

// Which metrics are checked, and what counts as too much:
//   step_s, t1_s, t2_s, peak_memory_bytes
//     more than the limit away from a, up or down
//   communication_s, exposed_communication_s
//     the same, if it is also more than one percent of the step of a: of almost nothing, a little
//     more is a lot
//   samples_per_s, overlap_pct (points of a percentage)
//     only when named, as they follow from the others
// A metric that one side does not know is not checked, unless it is named: then it fails.
std::vector<CompareCheck> check_comparison(const Comparison& comparison,
                                           const std::vector<CompareLimit>& limits);

}  // namespace twinrun::cli
