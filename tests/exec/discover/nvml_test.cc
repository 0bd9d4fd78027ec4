#include "exec/discover/nvml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace twinrun::exec {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(Nvml, SaysWhatTheLibrarySays) {
  const std::vector<DriverGpu> gpus = gpus_of_nvml(TWINRUN_FAKE_NVML);
  ASSERT_THAT(gpus, SizeIs(3));
  EXPECT_EQ(gpus[1].bus_id, "0000:b3:00.0");
  EXPECT_EQ(gpus[2].bus_id, "10000:01:00.0");
  EXPECT_EQ(gpus[1].name, "Fake 1");
  EXPECT_EQ(gpus[1].sm, 86);
  EXPECT_EQ(gpus[1].memory.count, std::int64_t{40} << 30);
}

TEST(Nvml, LinksThatAreOnHaveAFarEnd) {
  const std::vector<DriverGpu> gpus = gpus_of_nvml(TWINRUN_FAKE_NVML);
  ASSERT_THAT(gpus[0].links, SizeIs(6));
  EXPECT_EQ(gpus[0].links[3].target, "0000:b3:00.0");
  EXPECT_EQ(gpus[0].links[3].code, 0U);  // a GPU: its bus id says so
  EXPECT_EQ(gpus[0].links[4].target, "0000:c1:00.0");
  EXPECT_EQ(gpus[0].links[4].code, 0x068000U);
  EXPECT_EQ(gpus[1].links[0].target, "0000:65:00.0");
  EXPECT_THAT(gpus[2].links, IsEmpty());
}

TEST(Nvml, PeersAreThoseThatBothReadAndWrite) {
  const std::vector<DriverGpu> gpus = gpus_of_nvml(TWINRUN_FAKE_NVML);
  EXPECT_TRUE(gpus[0].knows_peers);
  EXPECT_THAT(gpus[0].peers, ElementsAre("0000:b3:00.0", "10000:01:00.0"));
  EXPECT_THAT(gpus[1].peers, ElementsAre("0000:65:00.0"));
  EXPECT_THAT(gpus[2].peers, ElementsAre("0000:65:00.0"));
}

TEST(Nvml, WithoutALibraryThereIsNoGpu) {
  EXPECT_THAT(gpus_of_nvml("libthere-is-none.so.1"), IsEmpty());
}

// A library of the same name that has none of the calls.
TEST(Nvml, ALibraryThatLacksTheCallsSaysNothing) {
  EXPECT_THAT(gpus_of_nvml("libm.so.6"), IsEmpty());
}

}  // namespace
}  // namespace twinrun::exec
