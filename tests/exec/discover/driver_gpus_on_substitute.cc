#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exec/discover/driver_gpus.h"
#include "tests/exec/cuda/substitute_gpus.h"
#include "tests/substitute/substitute.h"

namespace twinrun::exec {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// Three GPUs as CUDA counts them, which is not the order of their bus ids; the first and the last
// do not reach each other.
std::shared_ptr<GpuRuntime> three_gpus() {
  std::shared_ptr<GpuRuntime> runtime = substitute_gpus(3);
  std::vector<substitute::Device> devices(3);
  devices[0].pci_bus_id = "0000:B3:00.0";
  devices[0].name = "the quickest";
  devices[0].memory_bytes = std::size_t{3} << 30;
  devices[1].pci_bus_id = "0000:65:00.0";
  devices[2].pci_bus_id = "0000:66:00.0";
  substitute::set_devices(devices);
  substitute::set_peer_access_possible(0, 2, false);
  substitute::set_peer_access_possible(2, 0, false);
  return runtime;
}

TEST(DriverGpus, AreThoseOfCudaInItsOrder) {
  const auto runtime = three_gpus();
  const std::vector<DriverGpu> gpus = with_gpus_of_cuda({}, *runtime);
  ASSERT_THAT(gpus, SizeIs(3));
  EXPECT_EQ(gpus[0].bus_id, "0000:b3:00.0");
  EXPECT_EQ(gpus[0].name, "the quickest");
  EXPECT_EQ(gpus[0].sm, 80);
  EXPECT_EQ(gpus[0].memory.count, std::int64_t{3} << 30);
  EXPECT_THAT(gpus[0].peers, ElementsAre("0000:65:00.0"));
  EXPECT_THAT(gpus[1].peers, ElementsAre("0000:b3:00.0", "0000:66:00.0"));
  EXPECT_TRUE(gpus[2].knows_peers);
}

TEST(DriverGpus, KeepWhatWasKnownAndThoseThatCudaDoesNotSee) {
  const auto runtime = three_gpus();
  DriverGpu hidden;
  hidden.bus_id = "0000:17:00.0";
  DriverGpu known;
  known.bus_id = "0000:65:00.0";
  known.links = {{"0000:c1:00.0", 0x068000}};
  known.knows_peers = true;  // of none
  const std::vector<DriverGpu> gpus = with_gpus_of_cuda({hidden, known}, *runtime);
  ASSERT_THAT(gpus, SizeIs(4));
  EXPECT_EQ(gpus[1].bus_id, "0000:65:00.0");
  EXPECT_THAT(gpus[1].links, SizeIs(1));
  EXPECT_THAT(gpus[1].peers, IsEmpty());
  EXPECT_EQ(gpus[3].bus_id, "0000:17:00.0");
}

}  // namespace
}  // namespace twinrun::exec
