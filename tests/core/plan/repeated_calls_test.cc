#include "core/plan/repeated_calls.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/plan/validate.h"

namespace twinrun {
namespace {

using testing::ElementsAre;

std::vector<std::string> ids(const Plan& plan, std::size_t device, std::string_view stream) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < plan.stream_count(); ++i) {
    const auto id = id_at<StreamId>(i);
    if (index_of(plan.stream_device(id)) == device && plan.stream_name(id) == stream) {
      for (const OpId op : plan.stream_ops(id)) {
        out.emplace_back(plan.id(op));
      }
    }
  }
  return out;
}

TEST(RepeatedCalls, EachHasABarrierAndTheHostBeforeIt) {
  RepeatedCall call;
  call.kind = CollectiveKind::kBroadcast;
  call.sizes = {{8}, {16}};
  call.times = 2;
  call.root = 1;
  const RepeatedCallPlan repeated = repeat_calls({"a", "b"}, call);
  EXPECT_THAT(ids(repeated.plan, 1, "comm"),
              ElementsAre("host-comm.0@1", "barrier.0@1", "broadcast.0@1",  //
                          "host-comm.1@1", "barrier.1@1", "broadcast.1@1",  //
                          "host-comm.2@1", "barrier.2@1", "broadcast.2@1",  //
                          "host-comm.3@1", "barrier.3@1", "broadcast.3@1", "host-comm.4@1"));
  ASSERT_EQ(repeated.ops.size(), 2U);
  ASSERT_EQ(repeated.ops[1].size(), 2U);
  ASSERT_EQ(repeated.ops[1][0].size(), 2U);
  const OpId op = repeated.ops[1][0][1];
  EXPECT_EQ(repeated.plan.id(op), "broadcast.2@1");
  EXPECT_EQ(repeated.plan.collective(op).bytes.count, 16);
  EXPECT_EQ(repeated.plan.device_name(repeated.plan.shape(op).root), "b");
  EXPECT_TRUE(validate(repeated.plan).all().empty());
}

TEST(RepeatedCalls, SettlingCallsComeFirstAndAreNotCounted) {
  RepeatedCall call;
  call.kind = CollectiveKind::kAllReduce;
  call.sizes = {{1000}};
  call.settling = 2;
  const RepeatedCallPlan repeated = repeat_calls({"a", "b", "c"}, call);
  ASSERT_EQ(repeated.ops.size(), 1U);
  ASSERT_EQ(repeated.ops[0].size(), 1U);
  EXPECT_EQ(repeated.plan.id(repeated.ops[0][0][0]), "all_reduce.2@0");
  const OpId settling = *repeated.plan.find("all_reduce.1@2");
  EXPECT_EQ(repeated.plan.collective(settling).bytes.count, 12);  // an fp32 for each rank
}

TEST(RepeatedCalls, TheFirstOfTwoSends) {
  RepeatedCall call;
  call.sizes = {{8}};
  const RepeatedCallPlan repeated = repeat_calls({"a", "b"}, call);
  EXPECT_THAT(ids(repeated.plan, 0, "send"), ElementsAre("host-send.0@0", "send.0@0"));
  EXPECT_THAT(ids(repeated.plan, 0, "comm"),
              ElementsAre("host-comm.0@0", "barrier.0@0", "host-comm.1@0"));
  EXPECT_THAT(ids(repeated.plan, 1, "comm"),
              ElementsAre("host-comm.0@1", "barrier.0@1", "recv.0@1", "host-comm.1@1"));
  EXPECT_TRUE(validate(repeated.plan).all().empty());
}

TEST(RepeatedCalls, MoreSendToTheNextAndNobodyWaitsForEver) {
  RepeatedCall call;
  call.sizes = {{8}};
  call.times = 3;
  const RepeatedCallPlan repeated = repeat_calls({"a", "b", "c"}, call);
  EXPECT_TRUE(validate(repeated.plan).all().empty());
  const Plan& plan = repeated.plan;
  for (const OpId op : repeated.ops[0][2]) {
    if (plan.kind(op) == OpKind::kSend) {
      const OpId partner = plan.message(op).partner;
      EXPECT_EQ((index_of(plan.device(op)) + 1) % 3, index_of(plan.device(partner)));
      EXPECT_THAT(plan.id(op).substr(4, 2), plan.id(partner).substr(4, 2));  // the same call
    }
  }
}

}  // namespace
}  // namespace twinrun
