#include "exec/mpi/device_homes.h"

#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/diagnostics.h"
#include "core/plan/plan_builder.h"
#include "exec/mpi/channels.h"

namespace twinrun::exec {
namespace {

using testing::ElementsAre;

// Two machines of two GPUs that compute, each with a host that passes something on.
Plan two_machines() {
  PlanBuilder builder("two machines");
  for (const std::string node : {"node0/", "node1/"}) {
    const DeviceId host = builder.add_device(node + "cpu0");
    builder.add_marker(node + "serve", builder.stream(host, "compute"));
    for (const std::string gpu : {"gpu0", "gpu1"}) {
      const DeviceId device = builder.add_device(node + gpu);
      builder.add_compute(node + "work" + gpu, builder.stream(device, "compute"), {});
    }
  }
  return std::move(builder).finish();
}

std::vector<int> homes_of(const Plan& plan, int processes) {
  const DeviceHomes homes(plan, processes);
  std::vector<int> out;
  for (std::size_t i = 0; i < plan.device_count(); ++i) {
    out.push_back(homes.process_of(id_at<DeviceId>(i)));
  }
  return out;
}

TEST(DeviceHomes, EachRankHasAProcessAndHostsGoWithTheirMachine) {
  const Plan plan = two_machines();
  EXPECT_EQ(DeviceHomes::rank_count(plan), 4);
  EXPECT_THAT(homes_of(plan, 4), ElementsAre(0, 0, 1, 2, 2, 3));
}

TEST(DeviceHomes, FewerProcessesHaveBlocksTheLargerFirst) {
  EXPECT_THAT(homes_of(two_machines(), 3), ElementsAre(0, 0, 0, 1, 1, 2));
  EXPECT_THAT(homes_of(two_machines(), 2), ElementsAre(0, 0, 0, 1, 1, 1));
  EXPECT_THAT(homes_of(two_machines(), 1), ElementsAre(0, 0, 0, 0, 0, 0));
}

TEST(DeviceHomes, MoreProcessesThanRanksHaveNothingToDo) {
  const Plan plan = two_machines();
  EXPECT_THAT(homes_of(plan, 6), ElementsAre(0, 0, 1, 2, 2, 3));
  EXPECT_EQ(DeviceHomes(plan, 6).name_of(plan, 5), "rank 5 (no device)");
  EXPECT_EQ(DeviceHomes(plan, 6).name_of(plan, 2), "rank 2 (node1/cpu0, node1/gpu0)");
}

TEST(DeviceHomes, SayWhatIsHere) {
  const Plan plan = two_machines();
  const LocalDevices here = DeviceHomes(plan, 2).local_to(1);
  EXPECT_FALSE(here.has(id_at<DeviceId>(0)));
  EXPECT_TRUE(here.has(id_at<DeviceId>(3)));
}

// Whatever the tags: between two processes no two of (device that sends, op that takes) share one.
TEST(Channels, NumbersAreNeverShared) {
  const Plan plan = two_machines();
  for (const int processes : {1, 2, 4}) {
    for (const std::int64_t largest_tag : {1, 3, 100}) {
      const DeviceHomes homes(plan, processes);
      const Channels channels(plan, homes, largest_tag);
      std::set<std::tuple<int, int, int, std::size_t>> seen;
      for (std::size_t from = 0; from < plan.device_count(); ++from) {
        for (std::size_t op = 0; op < plan.size(); ++op) {
          const int sender = homes.process_of(id_at<DeviceId>(from));
          const Address at = channels.address(id_at<DeviceId>(from), id_at<OpId>(op), sender);
          EXPECT_LE(at.tag, largest_tag);
          EXPECT_LT(at.communicator, channels.communicators());
          EXPECT_EQ(at.process, sender);
          const auto taker =
              static_cast<std::size_t>(homes.process_of(plan.device(id_at<OpId>(op))));
          EXPECT_TRUE(seen.insert({at.process, at.communicator, at.tag, taker}).second);
        }
      }
    }
  }
}

TEST(Channels, TooFewTagsAreRefused) {
  PlanBuilder builder("many ops");
  const StreamId stream = builder.stream(builder.add_device("gpu0"), "compute");
  for (int i = 0; i < 3000; ++i) {
    builder.add_marker("op" + std::to_string(i), stream);
  }
  const Plan plan = std::move(builder).finish();
  const DeviceHomes homes(plan, 1);
  EXPECT_THROW(Channels(plan, homes, 1), CannotRun);
  EXPECT_EQ(Channels(plan, homes, 2).communicators(), 1000);
}

}  // namespace
}  // namespace twinrun::exec
