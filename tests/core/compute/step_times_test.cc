#include <cstdio>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "tests/core/compute/measured_steps.h"

namespace twinrun {
namespace {

std::string measured_folder() { return std::string(TWINRUN_TEST_ROOT) + "/../shared/measured"; }

std::map<std::string, ErrorSummary> errors_by_table(bool leave_out) {
  std::map<std::string, std::vector<std::pair<double, double>>> pairs;
  for (const MeasuredStep& step : measured_steps(measured_folder())) {
    const EfficiencyTable table = efficiency_table(leave_out ? step.table : "");
    pairs[step.table].emplace_back(predicted_s(step, table), step.seconds);
  }
  std::map<std::string, ErrorSummary> out;
  for (const auto& [table, list] : pairs) {
    out[table] = summary_of(list);
    std::printf("  %-30s %3zu steps: median %4.1f %%, p90 %4.1f %%, worst %4.1f %%\n",
                table.c_str(), out[table].count, out[table].median, out[table].p90,
                out[table].worst);
  }
  return out;
}

TEST(StepTimes, OfPublishedTablesArePredicted) {
  const auto errors = errors_by_table(false);
  if (errors.empty()) {
    GTEST_SKIP() << "no measurements in " << measured_folder();
  }
  EXPECT_EQ(errors.size(), 5U);
  for (const auto& [table, error] : errors) {
    EXPECT_LE(error.median, 10) << table;
    EXPECT_LE(error.worst, 25) << table;
  }
}

// Each table by curves that did not know it.
TEST(StepTimes, OfTablesThatTheFitDidNotKnowArePredicted) {
  const auto errors = errors_by_table(true);
  if (errors.empty()) {
    GTEST_SKIP() << "no measurements in " << measured_folder();
  }
  for (const auto& [table, error] : errors) {
    EXPECT_LE(error.median, 15) << table;
    EXPECT_LE(error.worst, 40) << table;
  }
}

TEST(StepTimes, AreTheSumsOfTheirOps) {
  MeasuredStep step;
  step.device.launch_overhead = microseconds(7);
  step.ops = {{ComputeOp{}, Kernel{}, 3, 0}, {ComputeOp{}, Kernel{}, 2, 10e-6}};
  EXPECT_NEAR(predicted_s(step, efficiency_table()), 3 * 7e-6 + 2 * 10e-6, 1e-12);
}

}  // namespace
}  // namespace twinrun
