#include "core/calibrate/linear_fit.h"

#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace twinrun {
namespace {

using testing::ElementsAre;

// 3 a + b over a = 1 … n, every tenth far off.
LinearRows line_with_outliers(int count, double off) {
  LinearRows rows{2, {}, {}};
  for (int i = 1; i <= count; ++i) {
    rows.design.insert(rows.design.end(), {static_cast<double>(i), 1});
    rows.observed.push_back(3.0 * i + 1 + 0.01 * std::sin(i) + (i % 10 == 0 ? off : 0));
  }
  return rows;
}

TEST(FitRobustly, SolvesWhatFitsExactly) {
  const LinearRows rows{2, {1, 0, 0, 1, 1, 1}, {2, 5, 7}};
  const LinearFit fit = fit_robustly(rows);
  EXPECT_NEAR(fit.values[0], 2, 1e-6);
  EXPECT_NEAR(fit.values[1], 5, 1e-6);
  EXPECT_THAT(fit.is_determined, ElementsAre(true, true));
}

TEST(FitRobustly, ATenthOfWildRowsHasNextToNoEffect) {
  const LinearFit fit = fit_robustly(line_with_outliers(50, 500));
  EXPECT_NEAR(fit.values[0], 3, 0.001);
  EXPECT_NEAR(fit.values[1], 1, 0.02);
  EXPECT_LT(fit.scale, 0.02);
}

// Two parameters that only occur together: their sum is known, neither is.
TEST(FitRobustly, SaysWhatTheRowsCannotDetermine) {
  const LinearRows rows{3, {1, 1, 0, 2, 2, 1, 3, 3, 5}, {4, 9, 17}};
  const LinearFit fit = fit_robustly(rows);
  EXPECT_THAT(fit.is_determined, ElementsAre(false, false, true));
  EXPECT_NEAR(fit.values[0] + fit.values[1], 4, 1e-4);
  EXPECT_NEAR(fit.values[0], fit.values[1], 1e-4);
  EXPECT_NEAR(fit.values[2], 1, 1e-4);
}

TEST(FitRobustly, AParameterThatNoRowUsesStaysWhereItIs) {
  const LinearRows rows{2, {1, 0, 2, 0}, {3, 6}};
  const LinearFit fit = fit_robustly(rows);
  EXPECT_THAT(fit.is_determined, ElementsAre(true, false));
  EXPECT_NEAR(fit.values[0], 3, 1e-6);
  EXPECT_EQ(fit.values[1], 0);
}

// 1 + 1e-9 of a difference is rounding, not knowledge.
TEST(FitRobustly, ColumnsThatDifferByRoundingAreTheSame) {
  const LinearRows rows{2, {1, 1 + 1e-9, 1, 1, 1, 1}, {1, 1, 1}};
  EXPECT_THAT(fit_robustly(rows).is_determined, ElementsAre(false, false));
}

}  // namespace
}  // namespace twinrun
