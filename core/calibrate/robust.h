#pragma once

#include <span>
#include <vector>

namespace twinrun {

// Statistics that a few wild values do not move: half of them may be anything.

// Of an even number the mean of the middle two; 0 of none.
double median(std::vector<double> values);

// The middle half of the values over their median, in percent: how far they stray. 0 of fewer than
// two, or when the median is 0.
double middle_half_pct(std::vector<double> values);

struct Line {
  double intercept = 0;
  double slope = 0;
};

// Theil and Sen: the median of the slopes of all pairs, then the median of what is left; up to 29 %
// of the points may be anything. Without two different x the line is level.
Line theil_sen(std::span<const double> x, std::span<const double> y);

}  // namespace twinrun
