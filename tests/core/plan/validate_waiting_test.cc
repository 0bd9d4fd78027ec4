#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/plan/order.h"
#include "core/plan/plan_builder.h"
#include "core/plan/run_graph.h"
#include "core/plan/validate.h"

namespace twinrun {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> codes(const Diagnostics& diagnostics) {
  std::vector<std::string> all;
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    all.push_back(diagnostic.code);
  }
  return all;
}

struct Devices {
  PlanBuilder b;
  DeviceId gpu0 = b.add_device("gpu0");
  DeviceId gpu1 = b.add_device("gpu1");
  GroupId world = b.add_group("world", std::vector{gpu0, gpu1});
  StreamId stream(int device, const char* name) {
    return b.stream(device == 0 ? gpu0 : gpu1, name);
  }
  OpId marker(const char* id, StreamId stream) { return b.add_marker(id, stream); }
  OpId sum(const char* id, StreamId stream) {
    return b.add_collective(id, stream, {.group = world, .bytes = {4}});
  }
  // The quick answer and the full explanation agree on every plan of these tests.
  Diagnostics check() {
    const Plan plan = std::move(b).finish();
    Diagnostics found = validate(plan);
    EXPECT_EQ(runs_to_its_end(RunGraph(plan)), !found.has_errors());
    return found;
  }
};

TEST(ValidateWaiting, ACycleIsPrintedWithItsMembers) {
  Devices d;
  const OpId a = d.marker("a", d.stream(0, "x"));
  const OpId b = d.marker("b", d.stream(0, "y"));
  const OpId c = d.marker("c", d.stream(0, "z"));
  d.b.depend(b, a);
  d.b.depend(c, b);
  d.b.depend(a, c);
  const Diagnostics found = d.check();
  EXPECT_THAT(codes(found), ElementsAre("E0401"));
  EXPECT_THAT(found.all()[0].message, HasSubstr("\"a\" → \"b\" → \"c\" → \"a\""));
  EXPECT_EQ(found.all()[0].place.pointer, "/ops/0/after");
}

TEST(ValidateWaiting, ALongCycleShowsTenMembersAndTheCount) {
  Devices d;
  std::vector<OpId> ops;
  for (int i = 0; i < 25; ++i) {
    const std::string name = std::to_string(i);
    ops.push_back(d.marker(name.c_str(), d.stream(0, name.c_str())));
  }
  for (std::size_t i = 0; i < ops.size(); ++i) {
    d.b.depend(ops[(i + 1) % ops.size()], ops[i]);
  }
  const std::string message = d.check().all().at(0).message;
  EXPECT_THAT(message, HasSubstr("25 ops"));
  EXPECT_THAT(message, HasSubstr("\"9\" → … (15 more)"));
}

TEST(ValidateWaiting, TwoCyclesAreTwoComplaints) {
  Devices d;
  for (const char* pair : {"x", "y"}) {
    const OpId a = d.marker((std::string(pair) + "1").c_str(), d.stream(0, pair));
    const OpId b = d.marker((std::string(pair) + "2").c_str(), d.stream(1, pair));
    d.b.depend(a, b);
    d.b.depend(b, a);
  }
  EXPECT_THAT(codes(d.check()), ElementsAre("E0401", "E0401"));
}

TEST(ValidateWaiting, OpsBehindACycleCanNeverStart) {
  Devices d;
  const OpId a = d.marker("a", d.stream(0, "x"));
  const OpId b = d.marker("b", d.stream(0, "y"));
  const OpId after = d.marker("after", d.stream(1, "x"));
  d.marker("queued", d.stream(1, "x"));
  d.marker("free", d.stream(1, "y"));
  d.b.depend(a, b);
  d.b.depend(b, a);
  d.b.depend(after, b);
  const Diagnostics found = d.check();
  EXPECT_THAT(codes(found), ElementsAre("E0401", "E0403"));
  EXPECT_THAT(found.all()[1].message, HasSubstr("2 ops can never start: \"after\", \"queued\""));
}

TEST(ValidateWaiting, AStreamOutOfOrderNamesTheTwoOps) {
  Devices d;
  const OpId early = d.marker("early", d.stream(0, "x"));
  d.marker("between", d.stream(0, "x"));
  const OpId late = d.marker("late", d.stream(0, "x"));
  const OpId elsewhere = d.marker("elsewhere", d.stream(1, "x"));
  d.b.depend(elsewhere, late);
  d.b.depend(early, elsewhere);
  const Diagnostics found = d.check();
  EXPECT_THAT(codes(found), ElementsAre("E0402"));
  EXPECT_EQ(found.all()[0].message,
            "stream \"x\" of \"gpu0\" is out of order: \"early\" is queued before \"late\", which "
            "it waits for through other ops");
}

TEST(ValidateWaiting, TheSameOpsInAnotherStreamAreFine) {
  Devices d;
  const OpId early = d.marker("early", d.stream(0, "x"));
  const OpId late = d.marker("late", d.stream(0, "y"));
  d.b.depend(early, late);
  EXPECT_THAT(codes(d.check()), ElementsAre());
}

TEST(ValidateWaiting, TwoStreamsThatWaitForEachOtherAreADeadlock) {
  Devices d;
  const OpId a = d.marker("a", d.stream(0, "x"));
  const OpId b = d.marker("b", d.stream(0, "x"));
  const OpId c = d.marker("c", d.stream(1, "x"));
  const OpId e = d.marker("e", d.stream(1, "x"));
  d.b.depend(a, e);
  d.b.depend(c, b);
  const Diagnostics found = d.check();
  EXPECT_THAT(codes(found), ElementsAre("E0405"));
  EXPECT_THAT(found.all()[0].help,
              HasSubstr("\"b\" is queued behind \"a\" in stream \"x\" of \"gpu0\"; \"c\" comes "
                        "after \"b\""));
}

TEST(ValidateWaiting, RanksThatIssueCollectivesInDifferentOrderAreNamed) {
  Devices d;
  d.sum("one@gpu0", d.stream(0, "comm"));
  d.sum("two@gpu0", d.stream(0, "comm"));
  d.sum("two@gpu1", d.stream(1, "comm"));
  d.sum("one@gpu1", d.stream(1, "comm"));
  const Diagnostics found = d.check();
  EXPECT_THAT(codes(found), ElementsAre("E0421"));
  EXPECT_THAT(
      found.all()[0].message,
      HasSubstr("\"gpu0\" has \"one\" before \"two\", \"gpu1\" has \"two\" before \"one\""));
}

TEST(ValidateWaiting, RanksInTheSameOrderAreFine) {
  Devices d;
  d.sum("one@gpu0", d.stream(0, "comm"));
  d.sum("two@gpu0", d.stream(0, "comm"));
  d.sum("one@gpu1", d.stream(1, "comm"));
  d.sum("two@gpu1", d.stream(1, "comm"));
  EXPECT_THAT(codes(d.check()), ElementsAre());
}

TEST(ValidateWaiting, ThreeCollectivesRotatedAreADifferentOrder) {
  Devices d;
  for (const char* id : {"a@gpu0", "b@gpu0", "c@gpu0"}) {
    d.sum(id, d.stream(0, "comm"));
  }
  for (const char* id : {"c@gpu1", "a@gpu1", "b@gpu1"}) {
    d.sum(id, d.stream(1, "comm"));
  }
  EXPECT_THAT(codes(d.check()), ElementsAre("E0421"));
}

TEST(ValidateWaiting, BothSendingFirstIsADeadlock) {
  Devices d;
  d.b.add_send("s0", d.stream(0, "comm"), {.peer = d.gpu1});
  d.b.add_recv("r0", d.stream(0, "comm"), {.peer = d.gpu1});
  d.b.add_send("s1", d.stream(1, "comm"), {.peer = d.gpu0});
  d.b.add_recv("r1", d.stream(1, "comm"), {.peer = d.gpu0});
  EXPECT_THAT(codes(d.check()), ElementsAre("E0405"));
}

TEST(ValidateWaiting, SendingAndReceivingInTurnIsFine) {
  Devices d;
  d.b.add_send("s0", d.stream(0, "comm"), {.peer = d.gpu1});
  d.b.add_recv("r0", d.stream(0, "comm"), {.peer = d.gpu1});
  d.b.add_recv("r1", d.stream(1, "comm"), {.peer = d.gpu0});
  d.b.add_send("s1", d.stream(1, "comm"), {.peer = d.gpu0});
  EXPECT_THAT(codes(d.check()), ElementsAre());
}

TEST(ValidateWaiting, ARankThatWaitsForAnotherRankOfItsCollectiveIsADeadlock) {
  Devices d;
  const OpId a = d.sum("sum@gpu0", d.stream(0, "comm"));
  const OpId b = d.sum("sum@gpu1", d.stream(1, "comm"));
  d.b.depend(b, a);
  const Diagnostics found = d.check();
  EXPECT_THAT(codes(found), ElementsAre("E0405"));
  EXPECT_THAT(found.all()[0].message, HasSubstr("the two start together"));
}

// Edges only run from lower to higher numbers, and streams keep that order: nothing can be stuck.
struct RandomPlan {
  explicit RandomPlan(std::mt19937& random) {
    const std::size_t count = 5 + random() % 60;
    for (std::size_t i = 0; i < count; ++i) {
      const StreamId stream = d.stream(static_cast<int>(random() % 2), random() % 2 ? "x" : "y");
      ops.push_back(d.marker(std::to_string(i).c_str(), stream));
    }
    for (std::size_t to = 1; to < count; ++to) {
      for (unsigned k = 0; k < random() % 3; ++k) {
        add(random() % to, to);
      }
    }
  }
  void add(std::size_t from, std::size_t to) {
    d.b.depend(ops[to], ops[from]);
    edges.emplace_back(from, to);
  }
  Devices d;
  std::vector<OpId> ops;
  std::vector<std::pair<std::size_t, std::size_t>> edges;
};

TEST(ValidateWaiting, RandomGraphsWithoutBackEdgesAreFine) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    RandomPlan plan(random);
    EXPECT_THAT(codes(plan.d.check()), ElementsAre()) << "round " << round;
  }
}

TEST(ValidateWaiting, RandomGraphsWithABackEdgeHaveACycleThroughIt) {
  std::mt19937 random(12);
  for (int round = 0; round < 300; ++round) {
    RandomPlan plan(random);
    if (plan.edges.empty()) {
      continue;
    }
    const auto [from, to] = plan.edges[random() % plan.edges.size()];
    plan.add(to, from);
    const Plan made = std::move(plan.d.b).finish();
    const auto found = codes(validate(made));
    EXPECT_EQ(std::count(found.begin(), found.end(), "E0401"), 1) << "round " << round;
    const auto cycles = find_cycles(made.successor_rows());
    ASSERT_EQ(cycles.size(), 1U);
    const std::vector<OpId>& way = cycles[0].way;
    for (std::size_t i = 0; i < way.size(); ++i) {
      const auto after = made.successors(way[i]);
      EXPECT_NE(std::find(after.begin(), after.end(), way[(i + 1) % way.size()]), after.end());
    }
    for (const std::size_t end : {from, to}) {
      EXPECT_TRUE(std::binary_search(cycles[0].component.begin(), cycles[0].component.end(),
                                     plan.ops[end]));
    }
  }
}

}  // namespace
}  // namespace twinrun
