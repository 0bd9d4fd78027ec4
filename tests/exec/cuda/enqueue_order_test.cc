#include "exec/cuda/enqueue_order.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/plan/plan_builder.h"

namespace twinrun::exec {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

bool never(OpId) { return false; }
bool always(OpId) { return true; }

struct Order {
  explicit Order(Plan of, bool (*ends_together)(OpId) = never)
      : plan(std::move(of)), order(enqueue_order(plan, ends_together)) {}

  [[nodiscard]] std::vector<std::string> waits(std::string_view id) const {
    std::vector<std::string> out;
    for (const OpId before : order.waits[*plan.find(id)]) {
      out.emplace_back(plan.id(before));
    }
    return out;
  }

  Plan plan;
  EnqueueOrder order;
};

// One stream for each of some devices, named a, b, …
struct Streams {
  Streams() {
    for (const char* const name : {"gpu0", "gpu1", "gpu2"}) {
      devices.push_back(builder.add_device(name));
      streams.push_back(builder.stream(devices.back(), "compute"));
    }
  }
  OpId work(const std::string& id, std::size_t stream, const std::vector<OpId>& after = {}) {
    const OpId op = builder.add_compute(id, streams[stream], {});
    for (const OpId before : after) {
      builder.depend(op, before);
    }
    return op;
  }
  OpId collective(const std::string& id, std::size_t stream, CollectiveKind kind) {
    CollectiveOpSpec spec;
    spec.kind = kind;
    spec.group = builder.add_group("all", devices);
    spec.bytes = {4};
    spec.root = devices[0];
    return builder.add_collective(id, streams[stream], spec);
  }
  Plan finish() { return std::move(builder).finish(); }

  PlanBuilder builder{"streams"};
  std::vector<DeviceId> devices;
  std::vector<StreamId> streams;
};

TEST(EnqueueOrder, HasWhatAnOpWaitsForBeforeIt) {
  Streams s;
  const OpId late = s.work("late", 1);
  const OpId early = s.work("early", 0);
  s.builder.depend(late, early);
  const Order order(s.finish());
  EXPECT_THAT(order.order.nodes, ElementsAre(early, late));
  EXPECT_THAT(order.waits("late"), ElementsAre("early"));
}

TEST(EnqueueOrder, LeavesTheOwnStreamToItsOrder) {
  Streams s;
  const OpId first = s.work("first", 0);
  s.work("second", 0, {first});
  EXPECT_THAT(Order(s.finish()).waits("second"), IsEmpty());
}

// a -> b on another device -> c on a third; c also waits for a, which b has seen to.
TEST(EnqueueOrder, LeavesOutWhatFollowsFromAnother) {
  Streams s;
  const OpId a = s.work("a", 0);
  const OpId b = s.work("b", 1, {a});
  s.work("c", 2, {a, b});
  EXPECT_THAT(Order(s.finish()).waits("c"), ElementsAre("b"));
}

TEST(EnqueueOrder, LeavesOutWhatAnEarlierOpOfTheStreamHasWaitedFor) {
  Streams s;
  const OpId a = s.work("a", 0);
  const OpId b = s.work("b", 0);
  s.work("c", 1, {b});
  s.work("d", 1, {a});
  EXPECT_THAT(Order(s.finish()).waits("d"), IsEmpty());
}

TEST(EnqueueOrder, KeepsWhatNobodyElseKnows) {
  Streams s;
  const OpId a = s.work("a", 0);
  const OpId b = s.work("b", 1);
  s.work("c", 2, {a, b});
  EXPECT_THAT(Order(s.finish()).waits("c"), UnorderedElementsAre("a", "b"));
}

// before@0, then the collective on all; after@1 waits for before@0.
Plan with_collective(CollectiveKind kind, std::size_t waits, std::size_t awaited) {
  Streams s;
  const OpId before = s.work("before", awaited);
  for (std::size_t i = 0; i < 3; ++i) {
    s.collective("sum@" + std::to_string(i), i, kind);
  }
  s.work("after", waits, {before});
  return s.finish();
}

TEST(EnqueueOrder, HearsOfAllInASum) {
  for (const CollectiveKind kind :
       {CollectiveKind::kAllReduce, CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
        CollectiveKind::kAllToAll, CollectiveKind::kBarrier}) {
    EXPECT_THAT(Order(with_collective(kind, 1, 2)).waits("after"), IsEmpty());
  }
}

TEST(EnqueueOrder, HearsOfTheRootAloneInABroadcast) {
  EXPECT_THAT(Order(with_collective(CollectiveKind::kBroadcast, 1, 0)).waits("after"), IsEmpty());
  EXPECT_THAT(Order(with_collective(CollectiveKind::kBroadcast, 1, 2)).waits("after"),
              ElementsAre("before"));
}

TEST(EnqueueOrder, IsHeardOfByTheRootAloneInAReduction) {
  EXPECT_THAT(Order(with_collective(CollectiveKind::kReduce, 0, 2)).waits("after"), IsEmpty());
  EXPECT_THAT(Order(with_collective(CollectiveKind::kReduce, 1, 2)).waits("after"),
              ElementsAre("before"));
}

// One rank may end while another has not.
TEST(EnqueueOrder, WaitsForTheCollectiveOfAnotherRank) {
  Streams s;
  std::vector<OpId> sums;
  for (std::size_t i = 0; i < 3; ++i) {
    sums.push_back(s.collective("sum@" + std::to_string(i), i, CollectiveKind::kAllReduce));
  }
  s.work("after", 1, {sums[0]});
  EXPECT_THAT(Order(s.finish()).waits("after"), ElementsAre("sum@0"));
}

// x before the send on gpu0, y before the recv on gpu1; after them one that waits for the other's.
Plan with_message() {
  Streams s;
  const OpId x = s.work("x", 0);
  const OpId y = s.work("y", 1);
  const OpId send = s.builder.add_send("send", s.streams[0], {s.devices[1], {4}});
  const OpId recv = s.builder.add_recv("recv", s.streams[1], {s.devices[0], {4}});
  s.work("sender_after_y", 0, {y});
  s.work("receiver_after_x", 1, {x});
  s.work("receiver_after_send", 1, {send});
  s.work("sender_after_recv", 0, {recv});
  return s.finish();
}

TEST(EnqueueOrder, KnowsOfTheSenderWhenItsMessageIsThere) {
  const Order order(with_message());
  EXPECT_THAT(order.waits("receiver_after_x"), IsEmpty());
  EXPECT_THAT(order.waits("sender_after_y"), ElementsAre("y"));
  EXPECT_THAT(order.waits("receiver_after_send"), ElementsAre("send"));
  EXPECT_FALSE(order.order.is_known_to_receiver[index_of(*order.plan.find("send"))]);
}

TEST(EnqueueOrder, KnowsOfBothWhereTheyEndTogether) {
  const Order order(with_message(), always);
  for (const char* const op :
       {"receiver_after_x", "sender_after_y", "receiver_after_send", "sender_after_recv"}) {
    EXPECT_THAT(order.waits(op), IsEmpty()) << op;
  }
}

TEST(EnqueueOrder, SeesThatAReceiverKnowsAllThatItsSenderWaitsFor) {
  Streams s;
  const OpId x = s.work("x", 2);
  const OpId send = s.builder.add_send("send", s.streams[0], {s.devices[1], {4}});
  const OpId recv = s.builder.add_recv("recv", s.streams[1], {s.devices[0], {4}});
  s.builder.depend(send, x);
  s.builder.depend(recv, x);
  const Order order(s.finish());
  EXPECT_TRUE(order.order.is_known_to_receiver[index_of(send)]);
}

TEST(EnqueueOrder, DoesNotWaitForAMarkerWithNothingBeforeIt) {
  Streams s;
  const OpId x = s.work("x", 0);
  const OpId idle = s.builder.add_marker("idle", s.streams[1]);
  const OpId join = s.builder.add_marker("join", s.streams[1]);
  s.builder.depend(join, x);
  s.work("after_idle", 2, {idle});
  s.work("after_join", 2, {join});
  const Order order(s.finish());
  EXPECT_THAT(order.waits("after_idle"), IsEmpty());
  EXPECT_THAT(order.waits("after_join"), ElementsAre("join"));
}

}  // namespace
}  // namespace twinrun::exec
