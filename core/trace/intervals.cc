#include "core/trace/intervals.h"

#include <algorithm>
#include <utility>

namespace twinrun {

namespace {

bool begins_before(const Interval& a, const Interval& b) { return a.begin < b.begin; }

}  // namespace

Intervals united(std::vector<Interval> intervals) {
  if (!std::is_sorted(intervals.begin(), intervals.end(), begins_before)) {
    std::sort(intervals.begin(), intervals.end(), begins_before);
  }
  std::size_t count = 0;  // of the union, in place: it has no more than what it is made of
  for (const Interval& interval : intervals) {
    if (interval.end <= interval.begin) {
      continue;
    }
    if (count > 0 && interval.begin <= intervals[count - 1].end) {
      intervals[count - 1].end = std::max(intervals[count - 1].end, interval.end);
    } else {
      intervals[count++] = interval;
    }
  }
  intervals.resize(count);
  return intervals;
}

Intervals united(const Intervals& a, const Intervals& b) {
  std::vector<Interval> both(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), both.begin(), begins_before);
  return united(std::move(both));
}

Intervals intersection(const Intervals& a, const Intervals& b) {
  Intervals out;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const Time begin = std::max(a[i].begin, b[j].begin);
    const Time end = std::min(a[i].end, b[j].end);
    if (begin < end) {
      out.push_back({begin, end});
    }
    if (a[i].end < b[j].end) {
      ++i;
    } else {
      ++j;
    }
  }
  return out;
}

Intervals difference(const Intervals& a, const Intervals& b) {
  Intervals out;
  std::size_t j = 0;
  for (Interval rest : a) {
    while (j < b.size() && b[j].end <= rest.begin) {
      ++j;
    }
    for (std::size_t k = j; k < b.size() && b[k].begin < rest.end; ++k) {
      if (rest.begin < b[k].begin) {
        out.push_back({rest.begin, b[k].begin});
      }
      rest.begin = std::max(rest.begin, b[k].end);
    }
    if (rest.begin < rest.end) {
      out.push_back(rest);
    }
  }
  return out;
}

Time length(const Intervals& intervals) {
  Time sum{};
  for (const Interval& interval : intervals) {
    sum = sum + (interval.end - interval.begin);
  }
  return sum;
}

}  // namespace twinrun
