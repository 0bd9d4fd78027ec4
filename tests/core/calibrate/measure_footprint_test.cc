#include "core/calibrate/measure_footprint.h"

#include <algorithm>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace twinrun {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;

// A machine on which a product of D devices takes 500 us and 100 more for each device beside it,
// and a pass 200 us and 10 more; with one device on a core too many, some are interrupted.
Trace run_on_known_machine(const Plan& plan) {
  Trace trace;
  trace.ops.resize(plan.size());
  std::vector<bool> computes(plan.device_count());
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const auto op = id_at<OpId>(i);
    if (plan.kind(op) == OpKind::kCompute) {
      computes[index_of(plan.device(op))] = true;
    }
  }
  const auto beside = static_cast<double>(std::count(computes.begin(), computes.end(), true) - 1);
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const auto op = id_at<OpId>(i);
    if (plan.kind(op) == OpKind::kCompute) {
      const double us = plan.kernel(op) != nullptr ? 500 + 100 * beside : 200 + 10 * beside;
      trace.ops[i] = {Time{}, Time{}, microseconds(i % 7 == 0 ? us + 3000 : us)};
    }
  }
  return trace;
}

auto point(int devices, double product_ps, double pass_ps) {
  constexpr std::int64_t kEach = 4 * (1280 * 1280 + 2 * 16 * 1280);
  return AllOf(Field(&FootprintPoint::bytes, Bytes{devices * kEach}),
               Field(&FootprintPoint::product_ps_per_byte, testing::DoubleNear(product_ps, 0.051)),
               Field(&FootprintPoint::pass_ps_per_byte, testing::DoubleNear(pass_ps, 0.051)));
}

// 100 us for 6,717,440 bytes are 14.89 ps a byte, 10 us are 1.49.
TEST(MeasureFootprint, TellsHowMuchLongerEachByteTakesBesideOthers) {
  EXPECT_THAT(measure_footprint(run_on_known_machine, 2, 3),
              ElementsAre(point(1, 0, 0), point(2, 14.89, 1.49), point(3, 29.77, 2.98),
                          point(4, 44.66, 4.47), point(6, 74.43, 7.44), point(8, 104.2, 10.42)));
}

TEST(MeasureFootprint, GoesUpToFourDevicesOnEachCore) {
  EXPECT_EQ(measure_footprint(run_on_known_machine, 8, 1).back().bytes,
            Bytes{32 * measure_footprint(run_on_known_machine, 1, 1).front().bytes.count});
}

}  // namespace
}  // namespace twinrun
