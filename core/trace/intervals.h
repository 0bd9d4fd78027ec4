#pragma once

#include <vector>

#include "core/base/units.h"

namespace twinrun {

struct Interval {
  Time begin{};
  Time end{};
  bool operator==(const Interval&) const = default;
};

// A set of instants as intervals in order that neither touch nor overlap.
using Intervals = std::vector<Interval>;

// The union; intervals that are empty or backwards count as nothing.
Intervals united(std::vector<Interval> intervals);
Intervals united(const Intervals& a, const Intervals& b);
Intervals intersection(const Intervals& a, const Intervals& b);
Intervals difference(const Intervals& a, const Intervals& b);
Time length(const Intervals& intervals);

}  // namespace twinrun
