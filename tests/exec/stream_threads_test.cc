#include "exec/stream_threads.h"

#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/plan/plan_builder.h"
#include "exec/thread_schedule.h"

namespace twinrun::exec {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(CoresForDevices, AreTheirOwnWhereDevicesTakeMostOfThem) {
  EXPECT_THAT(cores_for_devices(2, {4, 5}), ElementsAre(4, 5));
  EXPECT_THAT(cores_for_devices(2, {1, 3, 5}), ElementsAre(1, 3));
}

TEST(CoresForDevices, AreTheSchedulersWithOneDeviceManyCoresOrTooFew) {
  EXPECT_THAT(cores_for_devices(1, {0}), IsEmpty());
  EXPECT_THAT(cores_for_devices(2, {0, 1, 2, 3}), IsEmpty());
  EXPECT_THAT(cores_for_devices(3, {0, 1}), IsEmpty());
  EXPECT_THAT(cores_for_devices(2, {}), IsEmpty());
}

// Two streams a device; the second communicates.
Plan devices_with_streams(std::size_t devices) {
  PlanBuilder builder("places");
  std::vector<DeviceId> all;
  for (std::size_t i = 0; i < devices; ++i) {
    all.push_back(builder.add_device("cpu" + std::to_string(i)));
  }
  for (const DeviceId device : all) {
    const std::string at = "@cpu" + std::to_string(index_of(device));
    builder.add_compute("work" + at, builder.stream(device, "compute"), {});
    builder.add_marker("talk" + at, builder.stream(device, "talk"));
  }
  return std::move(builder).finish();
}

std::vector<std::size_t> cores_after_prepare(const StreamThreads& threads, StreamId stream) {
  std::vector<std::size_t> cores;
  std::thread([&] {
    threads.prepare(stream);
    cores = allowed_cores();
  }).join();
  return cores;
}

TEST(StreamThreads, ThatComputeStayOnTheirCoresAndOthersDoNot) {
  const std::vector<std::size_t> allowed = allowed_cores();
  if (allowed.size() < 2) {
    GTEST_SKIP() << "there is one core";
  }
  const Plan plan = devices_with_streams(allowed.size());
  const StreamThreads threads(plan, {}, false);
  std::size_t next = 0;
  for (std::size_t i = 0; i < plan.stream_count(); ++i) {
    const auto stream = id_at<StreamId>(i);
    const auto cores = cores_after_prepare(threads, stream);
    if (plan.stream_name(stream) == "compute") {
      EXPECT_THAT(cores, ElementsAre(allowed[next++]));
    } else {
      EXPECT_EQ(cores, allowed);
    }
  }
  EXPECT_EQ(next, allowed.size());
}

TEST(StreamThreads, AreNotPlacedBesideOtherProcesses) {
  const std::vector<std::size_t> allowed = allowed_cores();
  const Plan plan = devices_with_streams(allowed.size());
  const StreamThreads threads(plan, {}, true);
  EXPECT_EQ(cores_after_prepare(threads, id_at<StreamId>(0)), allowed);
}

}  // namespace
}  // namespace twinrun::exec
