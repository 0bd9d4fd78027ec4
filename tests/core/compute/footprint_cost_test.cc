#include "core/compute/footprint_cost.h"

#include <vector>

#include <gtest/gtest.h>

namespace twinrun {
namespace {

constexpr double kMiB = 1 << 20;
const std::vector<FootprintPoint> kPoints = {
    {{1 << 20}, 0, 0}, {{4 << 20}, 40, 20}, {{16 << 20}, 60, 24}};

TEST(FootprintCost, IsLinearInTheLogarithmOfTheBytes) {
  const FootprintCost cost = footprint_cost(kPoints, kMiB, 2 * kMiB);
  EXPECT_NEAR(cost.product_ps_per_byte, 20, 1e-9);
  EXPECT_NEAR(cost.pass_ps_per_byte, 10, 1e-9);
}

TEST(FootprintCost, IsLevelOutsideOfItsPoints) {
  EXPECT_NEAR(footprint_cost(kPoints, 1, 100 * kMiB).product_ps_per_byte, 60, 1e-9);
  EXPECT_EQ(footprint_cost(kPoints, 1, kMiB / 2).product_ps_per_byte, 0);
}

// 4 MiB alone took 40 ps a byte longer already when they were measured.
TEST(FootprintCost, LeavesOutWhatTheDeviceTakesAlone) {
  EXPECT_NEAR(footprint_cost(kPoints, 4 * kMiB, 16 * kMiB).product_ps_per_byte, 20, 1e-9);
  EXPECT_NEAR(footprint_cost(kPoints, 4 * kMiB, 16 * kMiB).pass_ps_per_byte, 4, 1e-9);
  EXPECT_EQ(footprint_cost(kPoints, 4 * kMiB, 4 * kMiB).product_ps_per_byte, 0);
}

TEST(FootprintCost, IsNothingWithoutPoints) {
  EXPECT_EQ(footprint_cost({}, kMiB, 100 * kMiB).product_ps_per_byte, 0);
}

}  // namespace
}  // namespace twinrun
