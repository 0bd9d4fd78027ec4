#include "core/io/nccl_tables.h"

#include <gtest/gtest.h>

namespace twinrun {
namespace {

double gb(std::optional<Bandwidth> bandwidth) {
  return bandwidth ? to_gigabytes_per_second(*bandwidth) : -1;
}

TEST(NcclTables, ClassesMatchByPrefix) {
  EXPECT_EQ(pci_class("0x060400"), PciClass::kBridge);
  EXPECT_EQ(pci_class("0x068000"), PciClass::kNvswitch);
  EXPECT_EQ(pci_class("0x068001"), PciClass::kCpuBridge);
  EXPECT_EQ(pci_class("0x030200"), PciClass::kGpu);
  EXPECT_EQ(pci_class("0x030000"), PciClass::kGpu);
  EXPECT_EQ(pci_class("0x020700"), PciClass::kNic);
  EXPECT_EQ(pci_class("0x010802"), PciClass::kBridge) << "anything else counts as a bridge";
  EXPECT_EQ(pci_class(""), PciClass::kBridge);
}

TEST(NcclTables, SpeedTextsOfOldAndNewKernelsAndTyposAreRead) {
  EXPECT_EQ(pcie_generation("2.5 GT/s"), 1);
  EXPECT_EQ(pcie_generation("5.0 GT/s PCIe"), 2);
  EXPECT_EQ(pcie_generation("16 GT/s"), 4);
  EXPECT_EQ(pcie_generation("32 GT/s PCIe/s"), 5);
  EXPECT_EQ(pcie_generation("64.0 GT/s PCIe"), 6);
  EXPECT_EQ(pcie_generation(""), std::nullopt);
  EXPECT_EQ(pcie_generation("Unknown"), std::nullopt);
  EXPECT_EQ(pcie_generation("7 GT/s"), std::nullopt);
}

TEST(NcclTables, SixteenLanesAreNcclsFigures) {
  const double expected[] = {3, 6, 12, 24, 48, 96};
  for (int generation = 1; generation <= 6; ++generation) {
    EXPECT_DOUBLE_EQ(gb(pcie_bandwidth({generation, 16})), expected[generation - 1]);
  }
  EXPECT_DOUBLE_EQ(gb(pcie_bandwidth({1, 1})), 0.1875);
  EXPECT_DOUBLE_EQ(gb(pcie_line_rate({3, 16})), 15.75);
}

TEST(NcclTables, SpeedsGoBothWays) {
  for (int generation = 1; generation <= 6; ++generation) {
    for (const int width : {1, 2, 4, 8, 12, 16}) {
      const PcieSpeed speed{generation, width};
      const auto back = pcie_speed_of(pcie_bandwidth(speed), pcie_line_rate(speed));
      ASSERT_TRUE(back);  // perhaps with twice the lanes of one generation less: the same link
      EXPECT_EQ(pcie_bandwidth(*back), pcie_bandwidth(speed));
      EXPECT_EQ(pcie_line_rate(*back), pcie_line_rate(speed));
    }
  }
  EXPECT_EQ(pcie_speed_of(gigabytes_per_second(12.2), {}), std::nullopt);
  EXPECT_EQ(parse_pcie_speed("gen5x16"), (PcieSpeed{5, 16}));
  for (const char* wrong :
       {"", "gen5", "gen7x16", "gen5x", "gen5x0", "gen5x16 ", "5x16", "genax1"}) {
    EXPECT_EQ(parse_pcie_speed(wrong), std::nullopt) << wrong;
  }
}

TEST(NcclTables, NvlinkByComputeCapability) {
  EXPECT_DOUBLE_EQ(gb(nvlink_rates(60).bandwidth), 18);
  EXPECT_DOUBLE_EQ(gb(nvlink_rates(70).bandwidth), 20);
  EXPECT_DOUBLE_EQ(gb(nvlink_rates(80).bandwidth), 20);
  EXPECT_DOUBLE_EQ(gb(nvlink_rates(86).bandwidth), 12);
  EXPECT_DOUBLE_EQ(gb(nvlink_rates(90).bandwidth), 20.6);
  EXPECT_DOUBLE_EQ(gb(nvlink_rates(100).bandwidth), 40.1);
  EXPECT_DOUBLE_EQ(gb(nvlink_rates(0).bandwidth), 20);
}

TEST(NcclTables, SocketsByMakeAndModel) {
  EXPECT_DOUBLE_EQ(gb(socket_bandwidth("intel", 0x4F)), 6);
  EXPECT_DOUBLE_EQ(gb(socket_bandwidth("intel", 0x55)), 10);
  EXPECT_DOUBLE_EQ(gb(socket_bandwidth("intel", 0x8F)), 22);
  EXPECT_DOUBLE_EQ(gb(socket_bandwidth("intel", 0xCF)), 40);
  EXPECT_DOUBLE_EQ(gb(socket_bandwidth("intel", 0xAD)), 40);
  EXPECT_DOUBLE_EQ(gb(socket_bandwidth("amd", 49)), 16);
  EXPECT_DOUBLE_EQ(gb(socket_bandwidth("power", 0)), 32);
  EXPECT_DOUBLE_EQ(gb(socket_bandwidth("arm", 0)), 6);
  EXPECT_EQ(socket_bandwidth("", 0), std::nullopt);
}

}  // namespace
}  // namespace twinrun
