#include "core/plan/validate.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/plan/plan_builder.h"

namespace twinrun {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// What a small good plan is made of. Each test changes one thing and expects one complaint.
struct Recipe {
  std::vector<std::string> group = {"gpu0", "gpu1"};
  std::string second_match = "sum";
  std::string second_device = "gpu1";
  std::string root = "";
  Bytes second_bytes{8};
  CollectiveKind kind = CollectiveKind::kAllReduce;
  CollectiveKind second_kind = CollectiveKind::kAllReduce;
  std::string second_algorithm = "ring";
  Dtype second_dtype = Dtype::kFp32;
  bool with_send = true;
  bool with_recv = true;
  Bytes recv_bytes{100};
  std::string recv_peer = "gpu0";
  std::string copy_to = "gpu1";
  std::string last_id = "end";
  bool waits_for_itself = false;
};

Plan make(const Recipe& recipe) {
  PlanBuilder b;
  const DeviceId gpu0 = b.add_device("gpu0");
  const DeviceId gpu1 = b.add_device("gpu1");
  const GroupId group = b.add_group("world");
  for (const std::string& name : recipe.group) {
    b.add_to_group(group, b.add_device(name));
  }
  const DeviceId root = recipe.root.empty() ? no_id<DeviceId>() : b.add_device(recipe.root);
  b.add_collective("sum@gpu0", b.stream(gpu0, "comm"),
                   {recipe.kind, group, {8}, "ring", Dtype::kFp32, root, {}});
  b.add_collective("sum@other", b.stream(b.add_device(recipe.second_device), "comm"),
                   {recipe.second_kind, group, recipe.second_bytes, recipe.second_algorithm,
                    recipe.second_dtype, root, recipe.second_match});
  b.add_copy("copy", b.stream(gpu0, "copy"), b.add_device(recipe.copy_to), {1});
  if (recipe.with_send) {
    b.add_send("send", b.stream(gpu0, "comm"), {.peer = gpu1, .bytes = {100}});
  }
  if (recipe.with_recv) {
    b.add_recv("recv", b.stream(gpu1, "comm"),
               {.peer = b.add_device(recipe.recv_peer), .bytes = recipe.recv_bytes});
  }
  const OpId last = b.add_marker(recipe.last_id, b.stream(gpu0, "compute"));
  if (recipe.waits_for_itself) {
    b.depend(last, last);
  }
  return std::move(b).finish();
}

// Every complaint as "code pointer".
std::vector<std::string> complaints(const Plan& plan, const ValidateOptions& options = {}) {
  std::vector<std::string> all;
  const Diagnostics found = validate(plan, options);
  for (const Diagnostic& diagnostic : found.all()) {
    all.push_back(diagnostic.code + " " + diagnostic.place.pointer);
  }
  return all;
}

TEST(Validate, AGoodPlanHasNoComplaints) { EXPECT_THAT(complaints(make({})), ElementsAre()); }

TEST(Validate, AnEmptyPlanIsWarnedAbout) {
  EXPECT_THAT(complaints(PlanBuilder().finish()), ElementsAre("W0401 /ops"));
  EXPECT_FALSE(validate(PlanBuilder().finish()).has_errors());
}

TEST(Validate, IdsMustBeUnique) {
  EXPECT_THAT(complaints(make({.last_id = "copy"})), ElementsAre("E0411 /ops/5/id"));
}

TEST(Validate, IdsAreNotLookedAtWhenTheLoaderDid) {
  EXPECT_THAT(complaints(make({.last_id = "copy"}), {.file = "", .ids_are_unique = true}),
              ElementsAre());
}

TEST(Validate, AnOpMustNotWaitForItself) {
  EXPECT_THAT(complaints(make({.waits_for_itself = true})), ElementsAre("E0404 /ops/5/after/0"));
}

TEST(Validate, DevicesMustBeInTheTopology) {
  const ValidateOptions options{
      .file = "p.json", .device_exists = [](std::string_view name) { return name != "gpu1"; }};
  EXPECT_THAT(complaints(make({}), options), ElementsAre("E0413 /ops/1/device"));
  EXPECT_EQ(validate(make({}), options).all()[0].place.file, "p.json");
}

TEST(Validate, ACopyNeedsAnotherDevice) {
  EXPECT_THAT(complaints(make({.copy_to = "gpu0"})), ElementsAre("E0434 /ops/2/to"));
}

TEST(Validate, AGroupNamesADeviceOnce) {
  EXPECT_THAT(complaints(make({.group = {"gpu0", "gpu1", "gpu0"}})),
              ElementsAre("E0427 /groups/world"));
}

TEST(ValidateCollectives, RanksMustAgreeInBytes) {
  const Diagnostics found = validate(make({.second_bytes = {9}}));
  ASSERT_EQ(found.all().size(), 1U);
  EXPECT_EQ(found.all()[0].code, "E0422");
  EXPECT_EQ(found.all()[0].place.pointer, "/ops/1/bytes");
  EXPECT_THAT(found.all()[0].message, HasSubstr("\"sum@gpu0\" says 8, \"sum@other\" says 9"));
}

TEST(ValidateCollectives, RanksMustAgreeInKindAlgorithmAndDtype) {
  EXPECT_THAT(complaints(make({.second_kind = CollectiveKind::kAllGather})),
              ElementsAre("E0422 /ops/1/collective"));
  EXPECT_THAT(complaints(make({.second_algorithm = "tree"})),
              ElementsAre("E0422 /ops/1/algorithm"));
  EXPECT_THAT(complaints(make({.second_dtype = Dtype::kFp16})), ElementsAre("E0422 /ops/1/dtype"));
}

TEST(ValidateCollectives, RanksMustAgreeInTheRoot) {
  PlanBuilder b;
  const DeviceId a = b.add_device("a");
  const DeviceId c = b.add_device("c");
  const GroupId g = b.add_group("g", std::vector{a, c});
  b.add_collective("x@a", b.stream(a, "s"),
                   {.kind = CollectiveKind::kReduce, .group = g, .root = a});
  b.add_collective("x@c", b.stream(c, "s"),
                   {.kind = CollectiveKind::kReduce, .group = g, .root = c});
  EXPECT_THAT(complaints(std::move(b).finish()), ElementsAre("E0422 /ops/1/root"));
}

TEST(ValidateCollectives, EveryRankMustTakePart) {
  EXPECT_THAT(complaints(make({.group = {"gpu0", "gpu1", "gpu2"}})), ElementsAre("E0423 /ops/0"));
  EXPECT_THAT(complaints(make({.second_match = "other"})),
              ElementsAre("E0423 /ops/0", "E0423 /ops/1"));
}

TEST(ValidateCollectives, NoRankMayTakePartTwice) {
  EXPECT_THAT(complaints(make({.group = {"gpu0"}, .second_device = "gpu0"})),
              ElementsAre("E0424 /ops/1", "E0403 /ops/3"));
}

TEST(ValidateCollectives, DevicesOutsideTheGroupMayNotTakePart) {
  EXPECT_THAT(complaints(make({.group = {"gpu0"}})), ElementsAre("E0425 /ops/1/device"));
}

TEST(ValidateCollectives, ABroadcastNeedsARootInTheGroup) {
  const auto broadcast = CollectiveKind::kBroadcast;
  EXPECT_THAT(complaints(make({.kind = broadcast, .second_kind = broadcast})),
              ElementsAre("E0426 /ops/0"));
  EXPECT_THAT(complaints(make({.root = "gpu7", .kind = broadcast, .second_kind = broadcast})),
              ElementsAre("E0426 /ops/0/root"));
  EXPECT_THAT(complaints(make({.root = "gpu1", .kind = broadcast, .second_kind = broadcast})),
              ElementsAre());
}

TEST(ValidateMessages, ASendNeedsARecv) {
  EXPECT_THAT(complaints(make({.with_recv = false})), ElementsAre("E0431 /ops/3"));
}

TEST(ValidateMessages, ARecvNeedsASend) {
  EXPECT_THAT(complaints(make({.with_send = false})), ElementsAre("E0432 /ops/3"));
}

TEST(ValidateMessages, BothEndsMustNameTheSameSize) {
  EXPECT_THAT(complaints(make({.recv_bytes = {99}})), ElementsAre("E0433 /ops/4/bytes"));
}

TEST(ValidateMessages, NobodyReceivesFromItself) {
  EXPECT_THAT(complaints(make({.with_send = false, .recv_peer = "gpu1"})),
              ElementsAre("E0434 /ops/3/peer"));
}

}  // namespace
}  // namespace twinrun
