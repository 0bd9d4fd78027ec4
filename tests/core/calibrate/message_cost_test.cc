#include "core/calibrate/message_cost.h"

#include <vector>

#include <gtest/gtest.h>

namespace twinrun {
namespace {

std::vector<MessageTime> times(double latency, double rate, const std::vector<double>& sizes) {
  std::vector<MessageTime> out;
  for (const double bytes : sizes) {
    out.push_back({bytes, latency + bytes / rate});
  }
  return out;
}

const std::vector<double> kAllSizes = {4, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 5e3, 5e4, 5e5, 5e6, 2e7};

TEST(FitMessageCost, FindsWhatTheTimesWereMadeFrom) {
  const MessageCost cost = fit_message_cost(times(7e-6, 3e9, kAllSizes));
  EXPECT_NEAR(cost.latency_s, 7e-6, 1e-9);
  EXPECT_NEAR(cost.bytes_per_s, 3e9, 1e6);
  EXPECT_TRUE(cost.knows_latency);
  EXPECT_TRUE(cost.knows_bandwidth);
  EXPECT_NEAR(cost.spread_pct, 0, 1e-3);
}

TEST(FitMessageCost, ATenthOfWildTimesHardlyMoveIt) {
  std::vector<MessageTime> all;
  for (int round = 0; round < 5; ++round) {
    for (const MessageTime& time : times(7e-6, 3e9, kAllSizes)) {
      const std::size_t i = all.size();
      const double noise = 1 + 0.02 * (static_cast<double>(i * 7 % 11) / 5.0 - 1);
      all.push_back({time.bytes, time.seconds * (i % 10 == 3 ? 20 : noise)});
    }
  }
  const MessageCost cost = fit_message_cost(all);
  EXPECT_NEAR(cost.latency_s, 7e-6, 0.05 * 7e-6);
  EXPECT_NEAR(cost.bytes_per_s, 3e9, 0.05 * 3e9);
}

TEST(FitMessageCost, LargeMessagesAloneDoNotShowTheLatency) {
  const MessageCost cost = fit_message_cost(times(7e-6, 3e9, {1e7, 2e7, 4e7}));
  EXPECT_FALSE(cost.knows_latency);
  EXPECT_TRUE(cost.knows_bandwidth);
  EXPECT_NEAR(cost.bytes_per_s, 3e9, 0.01 * 3e9);
}

TEST(FitMessageCost, SmallMessagesAloneDoNotShowTheBandwidth) {
  const MessageCost cost = fit_message_cost(times(7e-6, 3e9, {4, 16, 64}));
  EXPECT_TRUE(cost.knows_latency);
  EXPECT_FALSE(cost.knows_bandwidth);
  EXPECT_NEAR(cost.latency_s, 7e-6, 0.01 * 7e-6);
}

TEST(FitMessageCost, OneSizeShowsOneOfThem) {
  const MessageCost cost = fit_message_cost(times(7e-6, 3e9, {1e6, 1e6}));
  EXPECT_FALSE(cost.knows_latency && cost.knows_bandwidth);
  EXPECT_FALSE(fit_message_cost({}).knows_latency);
}

}  // namespace
}  // namespace twinrun
