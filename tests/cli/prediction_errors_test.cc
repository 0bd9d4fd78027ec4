#include "cli/prediction_errors.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace twinrun::cli {
namespace {

ComparedRow row(double predicted, double measured, std::string group = {}) {
  ComparedRow out;
  out.predicted = predicted;
  out.measured = measured;
  out.group = std::move(group);
  return out;
}

TEST(PredictionErrors, AreSharesOfTheMeasurement) {
  EXPECT_DOUBLE_EQ(row(150, 100).error_pct(), 50);
  EXPECT_DOUBLE_EQ(row(50, 100).error_pct(), -50);
}

// Errors of 10, 20, 30, 40 and 100 %: the middle one; 9/10 of the way lies 6/10 between the last
// two.
TEST(PredictionErrors, MedianAndP90AreOfTheirSizes) {
  const std::vector<ComparedRow> rows = {row(90, 100), row(120, 100), row(70, 100), row(140, 100),
                                         row(200, 100)};
  const ErrorSummary summary = summarize(rows);
  EXPECT_NEAR(summary.median_abs_error_pct, 30, 1e-9);
  EXPECT_NEAR(summary.p90_abs_error_pct, 40 + 0.6 * 60, 1e-9);
  EXPECT_EQ(summary.worst, 4U);
  EXPECT_EQ(summary.rows, 5U);
}

TEST(PredictionErrors, PairsAreOfOneGroupAndWorthChoosing) {
  const std::vector<ComparedRow> rows = {
      row(1, 100, "a"), row(2, 105, "a"),  // too close to each other
      row(1, 200, "a"),                    // wrong against 100 (equal is not less) and 105
      row(3, 300, "b"), row(5, 100, "b"),  // wrong
      row(7, 700, "c"), row(6, 600, "c"),  // right
      row(7, 900),      row(1, 1)};        // no alternatives
  const ErrorSummary summary = summarize(rows);
  EXPECT_EQ(summary.pairs, 4U);
  EXPECT_EQ(summary.pairs_right, 1U);
}

TEST(PredictionErrors, GroupsOfTwoFilesAreNotOne) {
  std::vector<ComparedRow> rows = {row(1, 1, "a"), row(2, 2, "a")};
  EXPECT_EQ(summarize(rows).pairs, 1U);
  rows[0].file = "other";
  EXPECT_EQ(summarize(rows).pairs, 0U);
}

// Spearman's 1 - 6·Σd²/(n·(n²-1)): with ranks 1 2 3 4 and 1 3 2 4, d² sums to 2.
TEST(PredictionErrors, OrderIsSpearmans) {
  const auto order = [](std::vector<ComparedRow> rows) {
    return *summarize(rows).rank_correlation;
  };
  EXPECT_DOUBLE_EQ(order({row(1, 10), row(3, 20), row(2, 30), row(4, 40)}), 1 - 6.0 * 2 / (4 * 15));
  EXPECT_DOUBLE_EQ(order({row(1, 10), row(2, 20), row(30, 30)}), 1);
  EXPECT_DOUBLE_EQ(order({row(3, 10), row(2, 20), row(1, 30)}), -1);
  // Ties share ranks: 1 2.5 2.5 4 against 1 2 3 4 is 4.5 / √(4.5 · 5).
  EXPECT_NEAR(order({row(1, 10), row(2, 20), row(2, 30), row(4, 40)}), 4.5 / std::sqrt(4.5 * 5),
              1e-12);
}

TEST(PredictionErrors, OfNothingAreNothing) {
  const ErrorSummary summary = summarize({});
  EXPECT_EQ(summary.rows, 0U);
  EXPECT_FALSE(summary.worst);
  EXPECT_FALSE(summary.rank_correlation);
}

}  // namespace
}  // namespace twinrun::cli
