#include "exec/discover/read_hwloc.h"

#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include "core/base/diagnostics.h"
#include "exec/discover/hwloc_agreement.h"
#include "exec/discover/machine_topology.h"
#include "exec/discover/machine_xml.h"
#include "exec/discover/read_sysfs.h"
#include "tests/exec/discover/fake_system.h"

namespace twinrun::exec {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::int64_t kGiB = std::int64_t{1} << 30;  // of a node of whose memory nothing is said

// Those whose claims are about hwloc itself.
class ReadHwloc : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = why_no_hwloc(); !reason.empty()) {
      GTEST_SKIP() << reason;
    }
  }
};

TEST(WithoutHwloc, NothingIsSaidAndTheReasonIsASentence) {
  EXPECT_FALSE(read_hwloc("libthere-is-none.so.1"));
  if (has_hwloc_header()) {
    EXPECT_EQ(why_no_hwloc("libthere-is-none.so.1"), "libthere-is-none.so.1 cannot be opened");
    EXPECT_EQ(why_no_hwloc("libm.so.6"), "libm.so.6 does not speak the interface of hwloc 2");
  }
  EXPECT_FALSE(read_hwloc("libm.so.6"));
}

// Its objects may look differently: nothing of it may be read.
TEST_F(ReadHwloc, ALibraryOfAnotherInterfaceIsNotAsked) {
#if defined(TWINRUN_OTHER_HWLOC)
  EXPECT_EQ(why_no_hwloc(TWINRUN_OTHER_HWLOC),
            TWINRUN_OTHER_HWLOC " does not speak the interface of hwloc 2");
  EXPECT_FALSE(read_hwloc(TWINRUN_OTHER_HWLOC));
#else
  GTEST_SKIP() << "there is no hwloc to link to";
#endif
}

// ---- this machine

void expect_same_as_sysfs() {
  Machine machine = read_sysfs(SystemFiles());
  std::optional<Machine> said = read_hwloc();
  ASSERT_TRUE(said);
  std::vector<NumaNode> nodes = said->nodes;
  for (NumaNode& node : nodes) {
    node.cache = {};  // of which /sys is not asked
  }
  EXPECT_EQ(nodes, machine.nodes);
  Diagnostics diagnostics;
  take_from_hwloc(*said, machine, diagnostics);
  EXPECT_THAT(diagnostics.all(), IsEmpty());
  EXPECT_THAT(machine.readers, ElementsAre("sysfs", "hwloc"));
}

TEST_F(ReadHwloc, ThisMachineIsTheOneThatSysfsShows) { expect_same_as_sysfs(); }

TEST_F(ReadHwloc, ThisMachinesPciDevicesAreThoseThatSysfsShows) {
  const Machine machine = read_sysfs(SystemFiles());
  const std::optional<Machine> said = read_hwloc();
  ASSERT_TRUE(said);
  for (const PciFunction& function : said->pci) {
    const PciFunction* const other = machine.find(function.bus_id);
    ASSERT_NE(other, nullptr) << function.bus_id;
    EXPECT_EQ(function.parent, other->parent);
    EXPECT_EQ(function.vendor, other->vendor);
    EXPECT_EQ(function.device, other->device);
    EXPECT_EQ(function.code >> 8, other->code >> 8);  // hwloc leaves the interface out
  }
}

// The last processor that this thread may run on is then all that there is.
TEST_F(ReadHwloc, AProcessThatIsBoundHasTheCoresItIsBoundTo) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  std::size_t last = CPU_SETSIZE - 1;
  while (!CPU_ISSET(last, &before)) {
    --last;
  }
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(last, &only);
  ASSERT_EQ(sched_setaffinity(0, sizeof only, &only), 0);
  expect_same_as_sysfs();
  const std::optional<Machine> said = read_hwloc();
  ASSERT_TRUE(said);
  ASSERT_THAT(said->nodes, SizeIs(1));
  EXPECT_THAT(said->nodes[0].cores, ElementsAre(static_cast<int>(last)));
  sched_setaffinity(0, sizeof before, &before);
}

// ---- machines that do not exist

std::vector<NumaNode> nodes_of(const std::string& description) {
  const std::optional<Machine> machine = read_hwloc_of(description);
  EXPECT_TRUE(machine) << description;
  return machine ? machine->nodes : std::vector<NumaNode>();
}

// Core j of node i has the threads 8i + 2j and the next.
TEST_F(ReadHwloc, CoresAreCountedOnceAndBelongToTheirNode) {
  EXPECT_THAT(nodes_of("package:2 numa:1 core:4 pu:2"),
              ElementsAre(NumaNode{0, {0, 2, 4, 6}, {kGiB}, {}, {}},
                          NumaNode{1, {8, 10, 12, 14}, {kGiB}, {}, {}}));
}

// The first threads of all cores come first.
TEST_F(ReadHwloc, TheSameMachineBySysfsIsTheSame) {
  FakeSystem system;
  system.add_processors(2, 4, kGiB / 1024);
  EXPECT_EQ(nodes_of("package:2 numa:1 core:4 pu:2(indexes=2*8:1*2)"),
            read_sysfs(system.files()).nodes);
}

// hwloc counts MB by 10^6.
TEST_F(ReadHwloc, CachesAreTheLastOnesOfANode) {
  EXPECT_THAT(
      nodes_of("package:2 [numa(memory=64GB)] l3:2(size=96MB) l2:2(size=1MB) core:1 pu:2"),
      ElementsAre(NumaNode{0, {0, 2, 4, 6}, {64'000'000'000}, {}, {}, {2 * 96'000'000}},
                  NumaNode{1, {8, 10, 12, 14}, {64'000'000'000}, {}, {}, {2 * 96'000'000}}));
  EXPECT_THAT(nodes_of("numa:1 l2:3(size=2MB) core:1 pu:1"),
              ElementsAre(NumaNode{0, {0, 1, 2}, {kGiB}, {}, {}, {3 * 2'000'000}}));
}

// High-bandwidth memory beside the usual one, as on Xeon Max.
TEST_F(ReadHwloc, CoresNearTwoMemoriesBelongToTheFirst) {
  EXPECT_THAT(nodes_of("package:2 [numa(memory=2GB indexes=0,2,1,3)] [numa(memory=1GB)] core:2 "
                       "pu:1"),
              ElementsAre(NumaNode{0, {0, 1}, {2'000'000'000}, {}, {}},
                          NumaNode{1, {2, 3}, {2'000'000'000}, {}, {}}));
}

TEST_F(ReadHwloc, ThreadsWithoutCoresAreCores) {
  EXPECT_THAT(nodes_of("numa:2 pu:2"), ElementsAre(NumaNode{0, {0, 1}, {kGiB}, {}, {}},
                                                   NumaNode{1, {2, 3}, {kGiB}, {}, {}}));
}

TEST_F(ReadHwloc, WhatIsNoMachineIsNothing) {
  EXPECT_FALSE(read_hwloc_of("numa:1 teapot:2"));
  EXPECT_FALSE(read_hwloc_of("there-is-no-such-file.xml"));
  EXPECT_FALSE(read_hwloc_of(std::string(10'000, 'x')));
}

// ---- files of lstopo's

// Two sockets of a core with two threads. At the second a root port, a switch, and below it a GPU
// (A100, gen4 x16) and an InfiniBand adapter (gen3 x8) that has an IP interface too; at no socket
// in particular a wireless card and an Ethernet card (gen2 x1).
constexpr const char* kTwoSockets = R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0xf" complete_cpuset="0xf" allowed_cpuset="0xf" nodeset="0x3" complete_nodeset="0x3" allowed_nodeset="0x3" gp_index="1">
    <info name="HostName" value="box"/>
    <object type="Package" os_index="0" cpuset="0x5" complete_cpuset="0x5" nodeset="0x1" complete_nodeset="0x1" gp_index="2">
      <info name="CPUVendor" value="AuthenticAMD"/>
      <info name="CPUFamilyNumber" value="23"/>
      <info name="CPUModelNumber" value="49"/>
      <info name="CPUModel" value="AMD EPYC 7742 64-Core Processor"/>
      <object type="NUMANode" os_index="0" cpuset="0x5" complete_cpuset="0x5" nodeset="0x1" complete_nodeset="0x1" gp_index="3" local_memory="4096"/>
      <object type="Core" os_index="0" cpuset="0x5" complete_cpuset="0x5" nodeset="0x1" complete_nodeset="0x1" gp_index="4">
        <object type="PU" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1" gp_index="5"/>
        <object type="PU" os_index="2" cpuset="0x4" complete_cpuset="0x4" nodeset="0x1" complete_nodeset="0x1" gp_index="6"/>
      </object>
    </object>
    <object type="Package" os_index="1" cpuset="0xa" complete_cpuset="0xa" nodeset="0x2" complete_nodeset="0x2" gp_index="7">
      <object type="NUMANode" os_index="1" cpuset="0xa" complete_cpuset="0xa" nodeset="0x2" complete_nodeset="0x2" gp_index="8" local_memory="8192"/>
      <object type="Core" os_index="1" cpuset="0xa" complete_cpuset="0xa" nodeset="0x2" complete_nodeset="0x2" gp_index="9">
        <object type="PU" os_index="1" cpuset="0x2" complete_cpuset="0x2" nodeset="0x2" complete_nodeset="0x2" gp_index="10"/>
        <object type="PU" os_index="3" cpuset="0x8" complete_cpuset="0x8" nodeset="0x2" complete_nodeset="0x2" gp_index="11"/>
      </object>
      <object type="Bridge" gp_index="12" bridge_type="0-1" depth="0" bridge_pci="0000:[40-4f]">
        <object type="Bridge" gp_index="13" bridge_type="1-1" depth="1" bridge_pci="0000:[41-4f]" pci_busid="0000:40:01.0" pci_type="0604 [1022:1483] [0000:0000] 00" pci_link_speed="31.507692">
          <object type="PCIDev" gp_index="14" pci_busid="0000:41:00.0" pci_type="0302 [10de:20b0] [10de:134f] a1" pci_link_speed="31.507692"/>
          <object type="PCIDev" gp_index="15" pci_busid="0000:42:00.0" pci_type="0207 [15b3:101b] [15b3:0007] 00" pci_link_speed="7.876923">
            <object type="OSDev" gp_index="16" name="ib0" osdev_type="2"/>
            <object type="OSDev" gp_index="17" name="mlx5_0" osdev_type="3">
              <info name="NodeGUID" value="0c42:a103:0011:0001"/>
              <info name="Port1State" value="4"/>
            </object>
          </object>
        </object>
      </object>
    </object>
    <object type="Bridge" gp_index="18" bridge_type="0-1" depth="0" bridge_pci="0000:[00-02]">
      <object type="PCIDev" gp_index="19" pci_busid="0000:01:00.0" pci_type="0280 [8086:2723] [8086:0084] 1a" pci_link_speed="0.5">
        <object type="OSDev" gp_index="20" name="wlan0" osdev_type="2"/>
      </object>
      <object type="PCIDev" gp_index="21" pci_busid="0000:02:00.0" pci_type="0200 [8086:1533] [15d9:1533] 03" pci_link_speed="0.5">
        <object type="OSDev" gp_index="22" name="eno1" osdev_type="2"/>
      </object>
    </object>
  </object>
</topology>
)";

class HwlocFile : public ReadHwloc {
 protected:
  void SetUp() override {
    ReadHwloc::SetUp();
    if (!IsSkipped()) {
      system_.write("/box.xml", kTwoSockets);
      machine_ = read_hwloc_of(system_.root() + "/box.xml");
      ASSERT_TRUE(machine_);
    }
  }
  FakeSystem system_;
  std::optional<Machine> machine_;
};

TEST_F(HwlocFile, HasTheProcessorsAndTheirName) {
  EXPECT_EQ(machine_->name, "box");
  EXPECT_THAT(machine_->readers, ElementsAre("hwloc"));
  EXPECT_THAT(machine_->nodes,
              ElementsAre(NumaNode{0, {0}, {4096}, {}, {}}, NumaNode{1, {1}, {8192}, {}, {}}));
  EXPECT_EQ(machine_->cpu.vendor, "amd");
  EXPECT_EQ(machine_->cpu.family, 23);
  EXPECT_EQ(machine_->cpu.model, 49);
  EXPECT_EQ(machine_->cpu.name, "AMD EPYC 7742 64-Core Processor");
}

// A lane of gen3 carries 8 x 128/130 / 8 GB/s, of gen4 twice that, of gen2 0.5 GB/s. A rate of
// eight lanes of gen3 is one of sixteen of gen2 nearly, but not quite.
TEST_F(HwlocFile, HasThePciTreeWithItsRatesAndPlaces) {
  EXPECT_THAT(machine_->pci,
              ElementsAre(PciFunction{"0000:01:00.0", "", 0x028000, 0x8086, 0x2723, 0x8086, 0x0084,
                                      -1, 1, 2, 0, true},
                          PciFunction{"0000:02:00.0", "", 0x020000, 0x8086, 0x1533, 0x15D9, 0x1533,
                                      -1, 1, 2, 0, true},
                          PciFunction{"0000:40:01.0", "", 0x060400, 0x1022, 0x1483, 0, 0, 1, 4, 16,
                                      0, true},
                          PciFunction{"0000:41:00.0", "0000:40:01.0", 0x030200, 0x10DE, 0x20B0,
                                      0x10DE, 0x134F, 1, 4, 16, 0, true},
                          PciFunction{"0000:42:00.0", "0000:40:01.0", 0x020700, 0x15B3, 0x101B,
                                      0x15B3, 0x0007, 1, 3, 8, 0, true}));
}

TEST_F(HwlocFile, HasPortsOnce) {
  EXPECT_THAT(
      machine_->ports,
      ElementsAre(NetworkPort{"mlx5_0", "0000:42:00.0", 0, true, true, "0c42a10300110001", 1},
                  NetworkPort{"eno1", "0000:02:00.0", 0, true, false, "", 0}));
}

// 24 GB/s is what NCCL takes for 16 lanes of gen4.
TEST_F(HwlocFile, IsATopologyWithTheGpuWhereItIs) {
  Diagnostics diagnostics;
  const Source xml = Source::of_text("machine", nccl_xml_of(*machine_, diagnostics));
  const TopologySpec spec = topology_of(*machine_, xml, {}, diagnostics);
  const TemplateSpec& host = spec.templates.front();
  EXPECT_EQ(spec.description,
            "1 GPU, 2 NICs, 2 NUMA nodes of 2 cores: AMD EPYC 7742 64-Core Processor");
  EXPECT_THAT(host.parts.front().ids, ElementsAre("0000:41:00.0"));
  EXPECT_EQ(host.parts.front().device, "a100-sxm4-40gb");
  EXPECT_THAT(host.links[0].from, ElementsAre("gpu0"));
  EXPECT_THAT(host.links[0].to, ElementsAre("cpu1"));
  EXPECT_EQ(host.links[0].bandwidth, gigabytes_per_second(24));
}

}  // namespace
}  // namespace twinrun::exec
