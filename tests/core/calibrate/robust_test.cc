#include "core/calibrate/robust.h"

#include <vector>

#include <gtest/gtest.h>

namespace twinrun {
namespace {

TEST(Median, IsTheMiddleOrTheMeanOfTheMiddleTwo) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median({7}), 7);
  EXPECT_EQ(median({9, 1, 5}), 5);
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
}

TEST(Median, OfWhichAlmostHalfIsWildIsThatOfTheRest) {
  EXPECT_EQ(median({1e9, 10, 11, 12, -1e9}), 11);
}

// Quartiles of 1 … 5 are 2 and 4: two of a median of three.
TEST(MiddleHalf, IsTheDistanceOfTheQuartiles) {
  EXPECT_NEAR(middle_half_pct({5, 4, 3, 2, 1}), 100 * 2.0 / 3, 1e-12);
  EXPECT_EQ(middle_half_pct({3}), 0);
  EXPECT_EQ(middle_half_pct({-1, 0, 1}), 0);
}

TEST(TheilSen, FindsALineThroughAFifthOfNonsense) {
  std::vector<double> x;
  std::vector<double> y;
  for (int i = 0; i < 20; ++i) {
    x.push_back(i);
    y.push_back(i % 5 == 0 ? 1000.0 * i : 3 + 2.0 * i);
  }
  const Line line = theil_sen(x, y);
  EXPECT_NEAR(line.slope, 2, 1e-9);
  EXPECT_NEAR(line.intercept, 3, 1e-9);
}

TEST(TheilSen, IsLevelWithoutTwoDifferentX) {
  const std::vector<double> x = {4, 4, 4};
  const std::vector<double> y = {1, 2, 9};
  EXPECT_EQ(theil_sen(x, y).slope, 0);
  EXPECT_EQ(theil_sen(x, y).intercept, 2);
}

}  // namespace
}  // namespace twinrun
