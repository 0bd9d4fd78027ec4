#include "core/compute/gpu_family.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "core/io/catalogue.h"
#include "core/io/load_topology.h"
#include "tests/core/compute/device_examples.h"

namespace twinrun {
namespace {

TEST(GpuFamily, FollowsFromCapabilityAndPower) {
  EXPECT_EQ(family_of(gpu(37, {}, 1)), GpuFamily::kKepler);
  EXPECT_EQ(family_of(gpu(61, {}, 1)), GpuFamily::kConsumer);
  EXPECT_EQ(family_of(gpu(70, {}, 1)), GpuFamily::kVolta);
  EXPECT_EQ(family_of(gpu(75, {}, 1, 250)), GpuFamily::kVolta);
  EXPECT_EQ(family_of(gpu(75, {}, 1, 70)), GpuFamily::kLowPower);
  EXPECT_EQ(family_of(gpu(75, {}, 1, 0)), GpuFamily::kVolta);
  EXPECT_EQ(family_of(gpu(89, {}, 1)), GpuFamily::kAmpere);
  EXPECT_EQ(family_of(gpu(999, {}, 1)), GpuFamily::kAnyGpu);
  DeviceSpec cpu;
  cpu.kind = VertexKind::kCpu;
  EXPECT_EQ(family_of(cpu), GpuFamily::kCpu);
}

// Counts of the datasheets.
TEST(Multiprocessors, AreWithinAnEighthOfTheRealCount) {
  const std::map<std::string, double> real = {{"k80", 13},
                                              {"m40", 24},
                                              {"m60", 16},
                                              {"titan-x-maxwell", 24},
                                              {"gtx-1080ti", 28},
                                              {"p40", 30},
                                              {"p100-sxm2", 56},
                                              {"v100-sxm2-16gb", 80},
                                              {"rtx-2080ti", 68},
                                              {"t4", 40},
                                              {"a10", 72},
                                              {"a40", 84},
                                              {"rtx-3090", 82},
                                              {"rtx-4090", 128},
                                              {"a100-sxm4-40gb", 108},
                                              {"h100-sxm5", 132},
                                              {"b200", 148}};
  Diagnostics diagnostics;
  const JsonDocument document = JsonDocument::read(catalogue_devices(), diagnostics);
  std::size_t seen = 0;
  for (const DeviceSpec& device : read_devices(document.root().find("devices"), diagnostics)) {
    if (const auto found = real.find(device.name); found != real.end()) {
      EXPECT_NEAR(multiprocessors(device), found->second, 0.125 * found->second) << device.name;
      ++seen;
    }
  }
  EXPECT_EQ(seen, real.size());
}

TEST(Multiprocessors, OfACpuAreItsCores) {
  DeviceSpec cpu;
  cpu.kind = VertexKind::kCpu;
  EXPECT_EQ(multiprocessors(cpu), 1);
  cpu.cores = 20;
  EXPECT_EQ(multiprocessors(cpu), 20);
}

TEST(TensorCores, AreThereSinceVoltaForNarrowFormats) {
  EXPECT_TRUE(has_tensor_cores(v100(), Dtype::kFp16));
  EXPECT_FALSE(has_tensor_cores(v100(), Dtype::kFp32));
  EXPECT_TRUE(has_tensor_cores(a100(), Dtype::kTf32));
  EXPECT_FALSE(has_tensor_cores(gpu(60, {}, 1), Dtype::kFp16));
}

}  // namespace
}  // namespace twinrun
