#include "exec/cuda/device_places.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/diagnostics.h"
#include "core/plan/plan_builder.h"

namespace twinrun::exec {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Plan plan_on(const std::vector<std::string>& devices) {
  PlanBuilder builder("devices");
  for (const std::string& device : devices) {
    builder.add_compute("work@" + device, builder.stream(builder.add_device(device), "compute"),
                        {});
  }
  return std::move(builder).finish();
}

// "gpu 2", "host on 2", "elsewhere"
std::vector<std::string> places(const Plan& plan, const GpuProcess& process) {
  std::vector<std::string> out;
  for (const DevicePlace& place :
       device_places(plan, DeviceHomes(plan, process.processes), process)) {
    out.push_back(!place.is_here
                      ? "elsewhere"
                      : (place.is_host ? "host on " : "gpu ") + std::to_string(place.gpu));
  }
  return out;
}

TEST(DevicePlaces, TakeGpusInOrder) {
  EXPECT_THAT(places(plan_on({"gpu0", "gpu1", "gpu2"}), {4}),
              ElementsAre("gpu 0", "gpu 1", "gpu 2"));
}

TEST(DevicePlaces, HaveHostsOnTheFirstGpuOfTheirMachine) {
  EXPECT_THAT(places(plan_on({"node0/cpu0", "node0/gpu0", "node1/gpu0", "node1/cpu0"}), {4}),
              ElementsAre("host on 0", "gpu 0", "gpu 1", "host on 1"));
}

TEST(DevicePlaces, OfAPlanForCpusAreGpusAsWell) {
  EXPECT_THAT(places(plan_on({"cpu0", "cpu1"}), {2}), ElementsAre("gpu 0", "gpu 1"));
}

TEST(DevicePlaces, OfSeveralProcessesOfAMachineFollowEachOther) {
  const Plan plan = plan_on({"gpu0", "gpu1", "gpu2"});
  EXPECT_THAT(places(plan, {4, 0, 2, 0}), ElementsAre("gpu 0", "gpu 1", "elsewhere"));
  EXPECT_THAT(places(plan, {4, 1, 2, 1}), ElementsAre("elsewhere", "elsewhere", "gpu 2"));
}

TEST(DevicePlaces, OnAnotherMachineBeginAnew) {
  EXPECT_THAT(places(plan_on({"node0/gpu0", "node1/gpu0"}), {1, 1, 2, 0}),
              ElementsAre("elsewhere", "gpu 0"));
}

// srun --gpus-per-task=1 shows each process one GPU.
TEST(DevicePlaces, AreTheOnlyOnesWhereTheLauncherShowsNoOthers) {
  EXPECT_THAT(places(plan_on({"gpu0", "gpu1"}), {1, 1, 2, 1}), ElementsAre("elsewhere", "gpu 0"));
}

TEST(DevicePlaces, AreRefusedWhenThereAreNotSoMany) {
  try {
    places(plan_on({"gpu0", "gpu1", "gpu2"}), {2});
    FAIL();
  } catch (const CannotRun& error) {
    EXPECT_THAT(error.what(), HasSubstr("needs 3 GPUs in one process, and there are 2"));
  }
}

TEST(DevicePlaces, OfAProcessWithNothingToDoNeedNoGpu) {
  EXPECT_THAT(places(plan_on({"gpu0"}), {0, 1, 2, 1}), ElementsAre("elsewhere"));
}

}  // namespace
}  // namespace twinrun::exec
