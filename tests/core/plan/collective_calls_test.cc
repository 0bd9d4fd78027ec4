#include "core/plan/collective_calls.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/plan/validate.h"

namespace twinrun {
namespace {

const std::vector<std::string> kFour = {"gpu0", "gpu1", "gpu2", "gpu3"};

TEST(CollectiveCalls, EveryRankMakesEveryCallInOrder) {
  const std::vector<CollectiveCall> calls = {{CollectiveKind::kReduce, {100}, 2},
                                             {CollectiveKind::kBroadcast, {50}, 3}};
  const Plan plan = plan_of_calls(kFour, calls, {"ring", Dtype::kFp16, 1});
  EXPECT_EQ(plan.size(), 4U * 5U);
  EXPECT_EQ(plan.instance_count(), 5U);
  EXPECT_EQ(plan.stream_count(), 4U);
  const OpId first = plan.instance_ops(id_at<InstanceId>(0)).front();
  EXPECT_EQ(plan.collective(first).bytes.count, 100);
  EXPECT_EQ(plan.device_name(plan.shape(first).root), "gpu1");
  EXPECT_EQ(plan.algorithm_name(plan.shape(first)), "ring");
  EXPECT_TRUE(validate(plan).all().empty());
}

TEST(CollectiveCalls, OneCallKeepsItsPlainName) {
  const std::vector<CollectiveCall> calls = {{CollectiveKind::kAllReduce, {8}, 1}};
  EXPECT_EQ(plan_of_calls(kFour, calls, {}).id(id_at<OpId>(0)), "all_reduce@0");
}

TEST(CollectiveCalls, MessagesGoRoundOrFromTheFirstOfTwo) {
  const std::vector<CollectiveCall> calls = {{std::nullopt, {8}, 1}};
  EXPECT_EQ(plan_of_calls(kFour, calls, {}).size(), 4U);
  EXPECT_EQ(plan_of_calls({"gpu0", "gpu1"}, calls, {}).size(), 1U);
  EXPECT_EQ(plan_of_calls({"gpu0"}, calls, {}).size(), 0U);
}

}  // namespace
}  // namespace twinrun
