#include "core/trace/intervals.h"

#include <cstdint>
#include <random>

#include <gtest/gtest.h>

namespace twinrun {
namespace {

constexpr std::int64_t kEnd = 64;

// The slow truth: one bit an instant.
std::uint64_t bits(const std::vector<Interval>& intervals) {
  std::uint64_t set = 0;
  for (const Interval& interval : intervals) {
    for (std::int64_t ps = interval.begin.ps; ps < interval.end.ps; ++ps) {
      set |= std::uint64_t{1} << ps;
    }
  }
  return set;
}

bool is_normal(const Intervals& intervals) {
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    if (intervals[i].end <= intervals[i].begin ||
        (i > 0 && intervals[i].begin <= intervals[i - 1].end)) {
      return false;
    }
  }
  return true;
}

TEST(Intervals, SetOperationsEqualThoseOnBits) {
  std::mt19937 random(7);
  const auto some = [&] {
    std::vector<Interval> out(random() % 6);
    for (Interval& interval : out) {
      interval = {{static_cast<std::int64_t>(random() % kEnd)},
                  {static_cast<std::int64_t>(random() % kEnd)}};
    }
    return out;
  };
  for (int round = 0; round < 3000; ++round) {
    const auto raw_a = some();
    const auto raw_b = some();
    const Intervals a = united(raw_a);
    const Intervals b = united(raw_b);
    ASSERT_EQ(bits(a), bits(raw_a));
    ASSERT_EQ(bits(intersection(a, b)), bits(a) & bits(b));
    ASSERT_EQ(bits(difference(a, b)), bits(a) & ~bits(b));
    ASSERT_EQ(bits(united(a, b)), bits(a) | bits(b));
    ASSERT_EQ(length(a).ps, __builtin_popcountll(bits(a)));
    ASSERT_TRUE(is_normal(a) && is_normal(intersection(a, b)) && is_normal(difference(a, b)));
    ASSERT_TRUE(is_normal(united(a, b)));
  }
}

}  // namespace
}  // namespace twinrun
