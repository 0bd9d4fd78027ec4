#include "exec/discover/read_sysfs.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/exec/discover/fake_system.h"

namespace twinrun::exec {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(SystemFiles, ListsOfNumbersEndWhereTheyCannotBeRead) {
  EXPECT_THAT(numbers_of_list("0-3,8,10-11"), ElementsAre(0, 1, 2, 3, 8, 10, 11));
  EXPECT_THAT(numbers_of_list("5"), ElementsAre(5));
  EXPECT_THAT(numbers_of_list("1,x,3"), ElementsAre(1));
  EXPECT_THAT(numbers_of_list("2-,4"), IsEmpty());
  EXPECT_THAT(numbers_of_list("3-1"), IsEmpty());
  EXPECT_THAT(numbers_of_list("-1"), IsEmpty());
  EXPECT_THAT(numbers_of_list("0-99999999999"), IsEmpty());
  EXPECT_THAT(numbers_of_list(""), IsEmpty());
}

TEST(Machine, BusIdsAreWrittenAsLinuxDoes) {
  EXPECT_EQ(plain_bus_id("00000000:AF:00.0"), "0000:af:00.0");
  EXPECT_EQ(plain_bus_id("0000:65:00.0"), "0000:65:00.0");
  EXPECT_EQ(plain_bus_id("00010000:01:00.0"), "10000:01:00.0");  // behind a volume controller
  EXPECT_EQ(plain_bus_id(""), "");
  EXPECT_EQ(plain_bus_id("00000000"), "0000");
}

TEST(ReadSysfs, CoresAreCountedOnceAndBelongToTheirNode) {
  FakeSystem system;
  add_dgx(system);
  const Machine machine = read_sysfs(system.files());
  EXPECT_EQ(machine.name, "fake");
  ASSERT_THAT(machine.nodes, SizeIs(2));
  EXPECT_THAT(machine.nodes[0].cores, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(machine.nodes[1].cores, ElementsAre(4, 5, 6, 7));
  EXPECT_EQ(machine.nodes[1].memory.count, 528'482'304LL * 1024);
  EXPECT_EQ(machine.cpu.vendor, "amd");
  EXPECT_EQ(machine.cpu.model, 49);
  EXPECT_EQ(machine.cpu.flops_per_cycle, 32);  // two units of eight for fused multiply-add
  EXPECT_EQ(machine.cpu.gigahertz, 3.4);
}

// The first hardware threads are switched off.
TEST(ReadSysfs, ACoreStandsUnderTheFirstThreadThatMayBeUsed) {
  FakeSystem system;
  system.add_processors(2, 2, 1024);
  system.write("/sys/devices/system/cpu/online", "1,4-7");
  const Machine machine = read_sysfs(system.files());
  ASSERT_THAT(machine.nodes, SizeIs(2));
  EXPECT_THAT(machine.nodes[0].cores, ElementsAre(1, 4));
  EXPECT_THAT(machine.nodes[1].cores, ElementsAre(6, 7));
}

TEST(ReadSysfs, APciDeviceKnowsTheBridgeAboveIt) {
  FakeSystem system;
  add_dgx(system);
  const Machine machine = read_sysfs(system.files());
  EXPECT_THAT(machine.pci, SizeIs(4 * 10));  // a root port, a switch of five, four below
  const PciFunction* const gpu = machine.find(dgx_gpu(7));
  ASSERT_NE(gpu, nullptr);
  EXPECT_EQ(gpu->bus_id, "0000:64:00.0");
  EXPECT_EQ(gpu->parent, "0000:62:01.0");
  EXPECT_EQ(gpu->numa_node, 1);
  EXPECT_EQ(gpu->generation, 4);
  EXPECT_EQ(gpu->width, 16);
  EXPECT_TRUE(is_nvidia_gpu(*gpu));
  EXPECT_EQ(machine.find("0000:60:01.0")->parent, "");
}

TEST(ReadSysfs, PortsBelongToTheirAdapter) {
  FakeSystem system;
  add_dgx(system);
  FakeSystem::Pci card;
  card.way = {"0000:90:00.0"};
  card.code = "0x020000";
  system.add_ethernet("eno1", card, "25000");
  card.way = {"0000:91:00.0"};
  system.add_ethernet("eno2", card, "-1");
  system.write("/sys/class/net/eno2/operstate", "down");
  system.write("/sys/class/net/lo/operstate", "unknown");  // no device: it is none
  const Machine machine = read_sysfs(system.files());
  ASSERT_THAT(machine.ports, SizeIs(10));
  EXPECT_EQ(machine.ports[3].name, "mlx5_3");
  EXPECT_EQ(machine.ports[3].bus_id, "0000:26:00.0");
  EXPECT_EQ(machine.ports[3].megabits, 200'000);
  EXPECT_TRUE(machine.ports[3].is_infiniband);
  EXPECT_EQ(machine.ports[3].guid, "0c42a10300110004");
  EXPECT_EQ(machine.ports[8].name, "eno1");
  EXPECT_EQ(machine.ports[8].megabits, 25'000);
  EXPECT_FALSE(machine.ports[8].is_infiniband);
  EXPECT_EQ(machine.ports[9].megabits, 0);
  EXPECT_FALSE(machine.ports[9].is_up);
}

TEST(ReadSysfs, InterfacesOfAnInfinibandAdapterAreNotCountedAgain) {
  FakeSystem system;
  FakeSystem::Pci card;
  card.way = {"0000:90:00.0"};
  system.add_infiniband("mlx5_0", card, "100 Gb/sec (2X HDR)", "0:0:0:1");
  system.add_ethernet("ib0", card, "100000");
  EXPECT_THAT(read_sysfs(system.files()).ports, SizeIs(1));
}

TEST(ReadSysfs, NothingAtAllIsOneNodeWithOneCore) {
  const FakeSystem system;
  const Machine machine = read_sysfs(system.files());
  ASSERT_THAT(machine.nodes, SizeIs(1));
  EXPECT_THAT(machine.nodes[0].cores, ElementsAre(0));
  EXPECT_EQ(machine.nodes[0].memory.count, 0);
  EXPECT_THAT(machine.pci, IsEmpty());
  EXPECT_THAT(machine.ports, IsEmpty());
  EXPECT_EQ(machine.cpu.vendor, "");
  EXPECT_EQ(machine.cpu.flops_per_cycle, 0);
}

TEST(ReadSysfs, NodesWithoutProcessorsAreNone) {
  FakeSystem system;
  system.add_processors(1, 2, 1024);
  system.write("/sys/devices/system/node/node7/cpulist", "");
  system.write("/sys/devices/system/node/node7/meminfo", "Node 7 MemTotal: 99 kB");
  EXPECT_THAT(read_sysfs(system.files()).nodes, SizeIs(1));
}

TEST(ReadSysfs, AKernelWithoutNumaHasOneNodeOfAllCores) {
  FakeSystem system;
  system.add_processors(2, 3, 1024);
  system.remove("/sys/devices/system/node");
  system.write("/proc/meminfo", "MemTotal:        4096 kB\nMemFree: 1 kB");
  const Machine machine = read_sysfs(system.files());
  ASSERT_THAT(machine.nodes, SizeIs(1));
  EXPECT_THAT(machine.nodes[0].cores, SizeIs(6));
  EXPECT_EQ(machine.nodes[0].memory.count, 4096 * 1024);
}

TEST(ReadSysfs, RubbishIsAsGoodAsNothing) {
  FakeSystem system;
  FakeSystem::Pci card;
  card.way = {"0000:90:00.0"};
  card.code = "0xffffffffffffffffffff";
  card.vendor = "nvidia";
  card.speed = "Unknown";
  card.width = "255";
  card.current_width = "-3";
  card.node = -1;
  system.add_ethernet("eth0", card, "4294967295");
  system.write("/sys/bus/pci/devices/not-a-bus-id/class", "0x030200");
  system.write("/sys/devices/system/cpu/online", "zero");
  system.write("/proc/cpuinfo", std::string("\x00\xff::::\n:", 8));
  const Machine machine = read_sysfs(system.files());
  ASSERT_THAT(machine.pci, SizeIs(1));
  EXPECT_EQ(machine.pci[0].code, 0U);
  EXPECT_EQ(machine.pci[0].vendor, 0);
  EXPECT_EQ(machine.pci[0].generation, 0);
  EXPECT_EQ(machine.pci[0].width, 0);
  EXPECT_EQ(machine.pci[0].current_width, 0);
  EXPECT_EQ(machine.pci[0].numa_node, -1);
  EXPECT_EQ(machine.ports[0].megabits, 0);
}

TEST(ReadSysfs, TheDriversFilesNameItsGpus) {
  FakeSystem system;
  system.write("/proc/driver/nvidia/gpus/0000:65:00.0/information",
               "Model: \t\t NVIDIA L40S\nIRQ:   \t\t 42\nBus Location: \t 0000:65:00.0");
  const Machine machine = read_sysfs(system.files());
  ASSERT_THAT(machine.gpus, SizeIs(1));
  EXPECT_EQ(machine.gpus[0].bus_id, "0000:65:00.0");
  EXPECT_EQ(machine.gpus[0].name, "NVIDIA L40S");
}

}  // namespace
}  // namespace twinrun::exec
