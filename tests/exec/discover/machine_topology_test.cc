#include "exec/discover/machine_topology.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/io/json_document.h"
#include "core/io/load_topology.h"
#include "core/io/save_topology.h"
#include "core/topology/build_topology.h"
#include "core/topology/router.h"
#include "exec/discover/driver_gpus.h"
#include "exec/discover/machine_xml.h"
#include "exec/discover/read_sysfs.h"
#include "tests/exec/discover/fake_system.h"

namespace twinrun::exec {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Discovered {
  std::string text;
  std::vector<std::string> warnings;  // codes
};

// As the verb does it.
Discovered discover(const Machine& machine, const ImportOptions& options = {}) {
  Diagnostics diagnostics;
  const Source xml = Source::of_text("machine", nccl_xml_of(machine, diagnostics));
  Discovered out;
  out.text = save_topology(topology_of(machine, xml, options, diagnostics));
  for (const Diagnostic& one : diagnostics.all()) {
    out.warnings.push_back(one.code);
  }
  return out;
}

TopologySpec spec_of(const std::string& text) {
  Diagnostics diagnostics;
  const JsonDocument document = JsonDocument::read(Source::of_text("text", text), diagnostics);
  TopologySpec spec = read_topology(document.root(), diagnostics);
  diagnostics.throw_if_errors();
  return spec;
}

Topology built(const std::string& text) {
  Diagnostics diagnostics;
  Topology topology = build_topology(spec_of(text), diagnostics);
  EXPECT_THAT(diagnostics.all(), IsEmpty());
  return topology;
}

// Two texts may leave out what the other says of defaults: both are read, and written the same way.
void expect_same(const std::string& found, const std::string& expected) {
  EXPECT_EQ(save_topology(spec_of(found)), save_topology(spec_of(expected)));
}

// With the driver's words: twelve NVLinks from each GPU to six switches that the system does not
// show, everybody reaches everybody.
Machine dgx(const FakeSystem& system) {
  Machine machine = read_sysfs(system.files());
  machine.readers.emplace_back("nvml");
  for (int i = 0; i < 8; ++i) {
    DriverGpu gpu;
    gpu.bus_id = dgx_gpu(i);
    gpu.name = "NVIDIA A100-SXM4-40GB";
    gpu.sm = 80;
    gpu.memory = {std::int64_t{40'536} << 20};
    for (int link = 0; link < 12; ++link) {
      gpu.links.push_back({"0000:c" + std::to_string(link / 2) + ":00.0", 0});
    }
    for (int other = 0; other < 8; ++other) {
      if (other != i) {
        gpu.peers.push_back(dgx_gpu(other));
      }
    }
    gpu.knows_peers = true;
    machine.gpus.push_back(std::move(gpu));
  }
  return machine;
}

// The same for those who change nothing about the files.
Machine dgx() {
  static const Machine machine = [] {
    FakeSystem system;
    add_dgx(system);
    return dgx(system);
  }();
  return machine;
}

// By hand: gen4 x16 is 24 GB/s to NCCL and 31.5 on the wire, a third-generation NVLink 20 and 25,
// sockets of AMD 16 (NCCL's tables, cuda-nccl-cpu 3); the peak is 4 cores x 32 FLOP x 3.4 GHz; four
// cores copy four times the 8.7 GB/s of one.
constexpr const char* kDgx = R"({
  "schema": "twinrun/topology/1",
  "name": "fake",
  "description": "8 GPUs, 8 NICs, 2 NUMA nodes of 8 cores: AMD EPYC 7742 64-Core Processor",
  "source": "this machine: sysfs, nvml",
  "devices": {
    "nic-200g": { "kind": "nic", "rate": "200Gb/s", "latency": "0us",
                  "source": "sysfs: line rate; latency counted on the links" },
    "cpu-amd-49-4c": { "kind": "cpu", "vendor": "amd", "model": 49, "cores": 4,
                  "peak": { "fp64": "217.6GFLOP/s", "fp32": "435.2GFLOP/s" }, "memory_bandwidth": "34.8GB/s",
                  "source": "sysfs: AMD EPYC 7742 64-Core Processor; 32 FLOP a cycle by its instruction set, guessed, x 3.4 GHz; memory bandwidth guessed: --measure measures it" },
    "memory": { "kind": "memory", "memory": "504GiB", "memory_bandwidth": "34.8GB/s",
                  "source": "sysfs; memory bandwidth guessed: --measure measures it" }
  },
  "templates": { "fake": {
    "parts": [
      { "name": "gpu", "count": 8, "device": "a100-sxm4-40gb",
        "ids": ["0000:03:00.0", "0000:04:00.0", "0000:23:00.0", "0000:24:00.0", "0000:43:00.0", "0000:44:00.0", "0000:63:00.0", "0000:64:00.0"] },
      { "name": "cpu", "count": 2, "device": "cpu-amd-49-4c", "ids": ["0", "1"] },
      { "name": "pcie", "count": 4, "kind": "pcie-switch",
        "ids": ["0000:01:00.0", "0000:21:00.0", "0000:41:00.0", "0000:61:00.0"] },
      { "name": "nic", "count": 8, "device": "nic-200g",
        "ids": ["0000:05:00.0/0x0c42a10300110001/mlx5_0", "0000:06:00.0/0x0c42a10300110002/mlx5_1",
                "0000:25:00.0/0x0c42a10300110003/mlx5_2", "0000:26:00.0/0x0c42a10300110004/mlx5_3",
                "0000:45:00.0/0x0c42a10300110005/mlx5_4", "0000:46:00.0/0x0c42a10300110006/mlx5_5",
                "0000:65:00.0/0x0c42a10300110007/mlx5_6", "0000:66:00.0/0x0c42a10300110008/mlx5_7"] },
      { "name": "nvswitch", "count": 1, "kind": "nvswitch",
        "ids": ["0000:c0:00.0+0000:c1:00.0+0000:c2:00.0+0000:c3:00.0+0000:c4:00.0+0000:c5:00.0"] },
      { "name": "mem", "count": 2, "device": "memory" }
    ],
    "links": [
      { "from": "gpu[0-1]", "to": "pcie0", "kind": "pcie", "bandwidth": "24GB/s", "line_rate": "31.5GB/s", "latency": "0.4us", "source": "nccl-table; latency: rule of thumb" },
      { "from": "gpu[2-3]", "to": "pcie1", "kind": "pcie", "bandwidth": "24GB/s", "line_rate": "31.5GB/s", "latency": "0.4us", "source": "nccl-table; latency: rule of thumb" },
      { "from": "gpu[4-5]", "to": "pcie2", "kind": "pcie", "bandwidth": "24GB/s", "line_rate": "31.5GB/s", "latency": "0.4us", "source": "nccl-table; latency: rule of thumb" },
      { "from": "gpu[6-7]", "to": "pcie3", "kind": "pcie", "bandwidth": "24GB/s", "line_rate": "31.5GB/s", "latency": "0.4us", "source": "nccl-table; latency: rule of thumb" },
      { "from": "nic[0-1]", "to": "pcie0", "kind": "pcie", "bandwidth": "24GB/s", "line_rate": "31.5GB/s", "latency": "0.4us", "source": "nccl-table; latency: rule of thumb" },
      { "from": "nic[2-3]", "to": "pcie1", "kind": "pcie", "bandwidth": "24GB/s", "line_rate": "31.5GB/s", "latency": "0.4us", "source": "nccl-table; latency: rule of thumb" },
      { "from": "nic[4-5]", "to": "pcie2", "kind": "pcie", "bandwidth": "24GB/s", "line_rate": "31.5GB/s", "latency": "0.4us", "source": "nccl-table; latency: rule of thumb" },
      { "from": "nic[6-7]", "to": "pcie3", "kind": "pcie", "bandwidth": "24GB/s", "line_rate": "31.5GB/s", "latency": "0.4us", "source": "nccl-table; latency: rule of thumb" },
      { "from": "pcie[0-1]", "to": "cpu0", "kind": "pcie", "bandwidth": "24GB/s", "line_rate": "31.5GB/s", "latency": "0.4us", "source": "nccl-table; latency: rule of thumb" },
      { "from": "pcie[2-3]", "to": "cpu1", "kind": "pcie", "bandwidth": "24GB/s", "line_rate": "31.5GB/s", "latency": "0.4us", "source": "nccl-table; latency: rule of thumb" },
      { "from": "gpu*", "to": "nvswitch0", "kind": "nvlink", "count": 12, "bandwidth": "20GB/s", "line_rate": "25GB/s", "latency": "0.3us", "source": "nccl-table; latency: rule of thumb" },
      { "from": "cpu0", "to": "cpu1", "kind": "socket", "bandwidth": "16GB/s", "latency": "0.5us", "source": "nccl-table; latency: rule of thumb" },
      { "from": "mem0", "to": "cpu0", "kind": "bus", "duplex": "half", "bandwidth": "34.8GB/s", "latency": "0.1us", "source": "memory bandwidth guessed: --measure measures it; latency: rule of thumb" },
      { "from": "mem1", "to": "cpu1", "kind": "bus", "duplex": "half", "bandwidth": "34.8GB/s", "latency": "0.1us", "source": "memory bandwidth guessed: --measure measures it; latency: rule of thumb" }
    ],
    "source": "this machine: sysfs, nvml"
  } },
  "nodes": { "fake": 1 },
  "fabric": { "kind": "single-switch", "latency": "1us", "source": "guessed: nobody looked beyond this machine" }
})";

TEST(MachineTopology, ADgxIsFoundWhole) {
  const Discovered found = discover(dgx());
  expect_same(found.text, kDgx);
  EXPECT_THAT(found.warnings, IsEmpty());
}

// Its graph is that of the catalogue's DGX A100, but for the bridges in front of each GPU.
TEST(MachineTopology, ADgxHasTheWaysOfTheCataloguesMachine) {
  FakeSystem system;
  add_dgx(system);
  const Topology topology = built(discover(dgx(system)).text);
  Router router(topology);
  const std::vector<VertexId> gpus = topology.compute_devices();
  ASSERT_EQ(gpus.size(), 8U);
  const auto way = router.route(gpus[0], gpus[7]);
  ASSERT_TRUE(way);
  EXPECT_EQ(way->path, PathClass::kNvl);
  EXPECT_EQ(way->bandwidth, gigabytes_per_second(240));
}

// Without a driver nobody knows of NVLinks; the GPUs are known by their PCI ids.
TEST(MachineTopology, WithoutADriverGpusAreThereByTheirPciIds) {
  FakeSystem system;
  add_dgx(system);
  const Discovered found = discover(read_sysfs(system.files()));
  EXPECT_THAT(found.warnings, IsEmpty());
  std::string expected = kDgx;
  const auto leave_out = [&](const std::string& from, const std::string& until) {
    const std::size_t begin = expected.find(from);
    ASSERT_NE(begin, std::string::npos);
    expected.erase(begin, expected.find(until, begin) - begin);
  };
  leave_out(R"({ "name": "nvswitch")", R"({ "name": "mem")");
  leave_out(R"({ "from": "gpu*", "to": "nvswitch0")", R"({ "from": "cpu0")");
  for (std::size_t at = 0; (at = expected.find(", nvml")) != std::string::npos;) {
    expected.erase(at, 6);
  }
  expect_same(found.text, expected);
}

// Two GPUs of a desktop whose driver denies direct transfers.
TEST(MachineTopology, PeersThatTheDriverDeniesDoNotTalkDirectly) {
  Machine machine = dgx();
  for (DriverGpu& gpu : machine.gpus) {
    gpu.links.clear();
    gpu.peers.clear();
  }
  EXPECT_EQ(spec_of(discover(machine).text).templates.front().p2p, PathClass::kLoc);
}

TEST(MachineTopology, APairThatTheDriverDeniesIsAnOverride) {
  Machine machine = dgx();
  std::erase(machine.gpus[2].peers, dgx_gpu(5));  // one way is enough
  const TopologySpec spec = spec_of(discover(machine).text);
  ASSERT_EQ(spec.overrides.size(), 1U);
  EXPECT_THAT(spec.overrides[0].p2p_pair, ElementsAre("gpu2", "gpu5"));
  EXPECT_FALSE(spec.overrides[0].p2p_allowed);
  EXPECT_EQ(spec.templates.front().p2p, PathClass::kPxb);
}

// Pairs at different sockets do not talk directly anyway: nothing to say about them.
TEST(MachineTopology, DeniedPairsThatAreTooFarAnywayAreLeftAlone) {
  Machine machine = dgx();
  for (std::size_t i = 0; i < 8; ++i) {
    machine.gpus[i].links.clear();
    std::erase_if(machine.gpus[i].peers, [&](const std::string& bus_id) {
      return (bus_id >= "0000:40:00.0") != (i >= 4);
    });
  }
  const TopologySpec spec = spec_of(discover(machine).text);
  EXPECT_THAT(spec.overrides, IsEmpty());
  EXPECT_EQ(spec.templates.front().p2p, PathClass::kPxb);
}

// CUDA's order is what `execute --backend cuda` counts by.
TEST(MachineTopology, GpusAreInTheDriversOrder) {
  Machine machine = dgx();
  std::reverse(machine.gpus.begin(), machine.gpus.end());
  const TopologySpec spec = spec_of(discover(machine).text);
  EXPECT_EQ(spec.templates.front().parts.front().ids.front(), dgx_gpu(7));
}

TEST(MachineTopology, AGpuOfOtherMemoryIsADeviceOfItsOwn) {
  Machine machine = dgx();
  machine.gpus[3].name = "NVIDIA A100-SXM4-10C";
  machine.gpus[3].memory = {std::int64_t{10} << 30};
  const TopologySpec spec = spec_of(discover(machine).text);
  const std::vector<PartSpec>& parts = spec.templates.front().parts;
  EXPECT_EQ(parts[0].count, 3);
  EXPECT_EQ(parts[1].count, 1);
  EXPECT_EQ(parts[1].device, "nvidia-a100-sxm4-10c");
  EXPECT_EQ(parts[2].count, 4);
  const auto own = std::find_if(spec.devices.begin(), spec.devices.end(), [](const auto& device) {
    return device.name == "nvidia-a100-sxm4-10c";
  });
  ASSERT_NE(own, spec.devices.end());
  EXPECT_EQ(own->memory.count, std::int64_t{10} << 30);
  EXPECT_EQ(own->peak[static_cast<std::size_t>(Dtype::kFp32)].flop_per_s, 19.5e12);
}

TEST(MachineTopology, AGpuThatTheDriverDoesNotHaveIsLeftOut) {
  Machine machine = dgx();
  machine.gpus.pop_back();  // given to a virtual machine
  const Discovered found = discover(machine);
  EXPECT_THAT(found.warnings, ElementsAre("W0212"));
  EXPECT_EQ(built(found.text).compute_devices().size(), 7U);
}

// Windows shows its guests no PCI devices, but the driver answers.
TEST(MachineTopology, GpusThatOnlyTheDriverKnowsHangAtTheProcessor) {
  Machine machine = dgx(FakeSystem());
  add_unseen_gpus(machine);
  ASSERT_EQ(machine.pci.size(), 8U);
  EXPECT_TRUE(std::is_sorted(machine.pci.begin(), machine.pci.end(),
                             [](const auto& a, const auto& b) { return a.bus_id < b.bus_id; }));
  const Discovered found = discover(machine);
  EXPECT_THAT(found.warnings, ElementsAre("W0211", "W0203"));  // links, and which sm 8.0 these are
  const TopologySpec spec = spec_of(found.text);
  EXPECT_THAT(spec.templates.front().links.front().from, ElementsAre("gpu*"));
  EXPECT_THAT(spec.templates.front().links.front().to, ElementsAre("cpu0"));
}

// A guest: the bridge is the hypervisor's, which says 2.5 GT/s x1 whatever is behind it.
TEST(MachineTopology, VirtualBridgesAreWarnedAbout) {
  FakeSystem system;
  system.add_processors(1, 2, 1 << 20);
  FakeSystem::Pci bridge;
  bridge.way = {"0000:00:01.0"};
  bridge.speed = "2.5 GT/s PCIe";
  bridge.width = bridge.current_width = "1";
  system.add(bridge);
  FakeSystem::Pci gpu = bridge;
  gpu.way.emplace_back("0000:01:00.0");
  gpu.code = "0x030200";
  gpu.vendor = "0x10de";
  gpu.device = "0x2330";
  system.add(gpu);
  const Machine machine = read_sysfs(system.files());
  EXPECT_THAT(discover(machine).warnings, ElementsAre("W0205"));
  ImportOptions options;
  options.assume_bridge = "gen5x16";
  const Discovered assumed = discover(machine, options);
  EXPECT_THAT(assumed.warnings, IsEmpty());
  EXPECT_EQ(spec_of(assumed.text).templates.front().links.front().bandwidth,
            gigabytes_per_second(48));
}

TEST(MachineTopology, FewerLanesThanThereCouldBeAreTakenAndWarnedAbout) {
  FakeSystem system;
  add_dgx(system);
  system.write("/sys/bus/pci/devices/" + dgx_gpu(0) + "/current_link_width", "8");
  const Discovered found = discover(dgx(system));
  EXPECT_THAT(found.warnings, ElementsAre("W0220"));
  EXPECT_EQ(spec_of(found.text).templates.front().links.front().bandwidth,
            gigabytes_per_second(12));
}

TEST(MachineTopology, OtherGpusPortsThatAreDownAndHomelessDevicesAreWarnedAbout) {
  FakeSystem system;
  add_dgx(system);
  FakeSystem::Pci other;
  other.way = {"0000:70:00.0"};
  other.code = "0x038000";
  other.vendor = "0x1002";
  system.add(other);
  system.write("/sys/class/infiniband/mlx5_7/ports/1/state", "1: DOWN");
  for (const char* const bus_id : {"0000:01:00.0", "0000:03:00.0"}) {
    system.write(std::string("/sys/bus/pci/devices/") + bus_id + "/numa_node", "-1");
  }
  const Discovered found = discover(dgx(system));
  EXPECT_THAT(found.warnings, ElementsAre("W0221", "W0222", "W0223"));
}

// As topologies/cpu.json, with what is known of this machine. 3 cores x 8 FLOP x 2 GHz.
constexpr const char* kPlain = R"({
  "schema": "twinrun/topology/1",
  "name": "fake",
  "description": "1 NIC, 1 NUMA node of 3 cores: Some Xeon",
  "source": "this machine: sysfs",
  "devices": {
    "nic-25g-12us": { "kind": "nic", "rate": "25Gb/s", "latency": "12us", "tcp": true,
                  "source": "sysfs: line rate; latency of TCP in one rack: rule of thumb" },
    "cpu-intel-85-core": { "kind": "cpu", "vendor": "intel", "model": 85, "cores": 1,
                  "peak": { "fp64": "8GFLOP/s", "fp32": "16GFLOP/s" }, "memory_bandwidth": "8.7GB/s", "launch_overhead": "1us",
                  "source": "sysfs: Some Xeon; 8 FLOP a cycle by its instruction set, guessed, x 2 GHz; memory bandwidth guessed: --measure measures it; launch overhead guessed" },
    "memory": { "kind": "memory", "memory": "16GiB", "memory_bandwidth": "26.1GB/s",
                  "source": "sysfs; memory bandwidth guessed: --measure measures it" }
  },
  "templates": { "fake": {
    "parts": [
      { "name": "cpu", "count": 3, "device": "cpu-intel-85-core", "ids": ["0/0", "0/1", "0/2"] },
      { "name": "nic", "count": 1, "device": "nic-25g-12us", "ids": ["0000:90:00.0/eno1"] },
      { "name": "mem", "count": 1, "device": "memory" }
    ],
    "links": [
      { "from": "nic0", "to": "cpu0", "kind": "pcie", "bandwidth": "6GB/s", "line_rate": "7.875GB/s", "latency": "0.4us", "source": "nccl-table; latency: rule of thumb" },
      { "from": "cpu*", "to": "cpu*", "kind": "socket", "bandwidth": "8.7GB/s", "latency": "0.2us", "source": "memory bandwidth guessed: --measure measures it; latency: rule of thumb" },
      { "from": "mem0", "to": "cpu*", "kind": "bus", "duplex": "half", "bandwidth": "8.7GB/s", "latency": "0.1us", "source": "memory bandwidth guessed: --measure measures it; latency: rule of thumb" }
    ],
    "source": "this machine: sysfs"
  } },
  "nodes": { "fake": 1 },
  "fabric": { "kind": "single-switch", "latency": "1us", "source": "guessed: nobody looked beyond this machine" }
})";

TEST(MachineTopology, WithoutGpusTheCoresAreTheDevices) {
  FakeSystem system;
  system.add_processors(1, 3, 16 << 20);
  system.set_cpu_model("GenuineIntel", 85, "Some Xeon", "fpu sse2");
  FakeSystem::Pci card;
  card.way = {"0000:90:00.0"};
  card.code = "0x020000";
  card.speed = "8.0 GT/s PCIe";
  card.width = card.current_width = "8";
  system.add_ethernet("eno1", card, "25000");
  const Discovered found = discover(read_sysfs(system.files()));
  expect_same(found.text, kPlain);
  EXPECT_THAT(found.warnings, IsEmpty());
}

// Copies between nodes meet on the one link between the sockets.
TEST(MachineTopology, CoresOfTwoSocketsAreJoinedByTheirFirst) {
  FakeSystem system;
  system.add_processors(2, 4, 1 << 20);
  system.set_cpu_model("GenuineIntel", 85, "Some Xeon", "sse2");
  const Topology topology = built(discover(read_sysfs(system.files())).text);
  const std::vector<VertexId> cores = topology.compute_devices();
  ASSERT_EQ(cores.size(), 8U);
  Router router(topology);
  EXPECT_EQ(router.route(cores[1], cores[3])->links.size(), 1U);
  const auto across = router.route(cores[1], cores[7]);
  ASSERT_TRUE(across);
  EXPECT_EQ(across->links.size(), 3U);
  const auto other = router.route(cores[2], cores[6]);
  EXPECT_EQ(across->links[1], other->links[1]);
}

TEST(MachineTopology, WhatWasMeasuredIsTakenAndSaysSo) {
  FakeSystem system;
  system.add_processors(1, 2, 1 << 20);
  Machine machine = read_sysfs(system.files());
  machine.nodes[0].copy = gigabytes_per_second(11);
  machine.nodes[0].copies = gigabytes_per_second(15);
  const TopologySpec spec = spec_of(discover(machine).text);
  const auto bandwidth_of = [&](VertexKind kind) {
    const auto found = std::find_if(spec.devices.begin(), spec.devices.end(),
                                    [&](const auto& device) { return device.kind == kind; });
    EXPECT_THAT(found->source, testing::HasSubstr("measured, copies by one and by 2 threads"));
    return found->memory_bandwidth;
  };
  EXPECT_EQ(bandwidth_of(VertexKind::kCpu), gigabytes_per_second(11));
  EXPECT_EQ(bandwidth_of(VertexKind::kMemory), gigabytes_per_second(15));
  EXPECT_EQ(spec.templates.front().links.front().bandwidth, gigabytes_per_second(11));
}

TEST(MachineTopology, NothingAtAllIsStillATopology) {
  const FakeSystem system;
  const Discovered found = discover(read_sysfs(system.files()));
  EXPECT_EQ(built(found.text).compute_devices().size(), 1U);
}

// A slot without a bridge above, an adapter without a word on its speed, names that are no names.
TEST(MachineTopology, BrokenTreesGiveWhatIsThere) {
  FakeSystem system;
  system.add_processors(1, 2, 0);
  system.write("/proc/sys/kernel/hostname", "<&\"ho st");
  FakeSystem::Pci gpu;
  gpu.way = {"0000:01:00.0"};
  gpu.code = "0x030200";
  gpu.vendor = "0x10de";
  gpu.device = "0xbeef";
  gpu.speed = "";
  system.add(gpu);
  FakeSystem::Pci card;
  card.way = {"0000:02:00.0"};
  card.code = "0x020000";
  card.speed = "Unknown";
  system.add_ethernet("eth0", card, "-1");
  const Discovered found = discover(read_sysfs(system.files()));
  EXPECT_THAT(found.warnings, testing::UnorderedElementsAre("W0201", "W0202", "W0211"));
  EXPECT_EQ(built(found.text).compute_devices().size(), 1U);
  EXPECT_THAT(found.text, testing::HasSubstr("guessed: as NCCL does where it is not said"));
  ImportOptions options;
  options.nic_rate = gigabytes_per_second(3.125);
  const Discovered given = discover(read_sysfs(system.files()), options);
  EXPECT_THAT(given.text, testing::HasSubstr("user: --nic where it is not said"));
  EXPECT_THAT(given.text, testing::HasSubstr("\"nic-25g-12us\""));
}

}  // namespace
}  // namespace twinrun::exec
