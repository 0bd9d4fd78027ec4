#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.h"

namespace twinrun::exec {

// A host as its operating system describes it: what is there and how it is plugged together.

// Processors that share a memory.
struct NumaNode {
  int number = 0;          // of the system
  std::vector<int> cores;  // that this process may use: the first hardware thread of each
  Bytes memory = {};       // 0: not known
  Bandwidth copy = {};     // by one core within this memory; 0: nobody measured
  Bandwidth copies = {};   // by all of its cores at once
  Bytes cache = {};        // of the last caches before this memory, all together; 0: not known
  bool operator==(const NumaNode&) const = default;
};

struct CpuModel {
  std::string vendor;       // intel, amd, arm, power; "" unknown
  int family = 0;           // as the processor says
  int model = 0;            // …
  std::string name;         // for people
  double gigahertz = 0;     // the most it is said to reach; 0 unknown
  int flops_per_cycle = 0;  // fp32, of a core, from its instruction set; 0 unknown
};

// A function of a PCI device.
struct PciFunction {
  std::string bus_id;      // 0000:65:00.0, lower case
  std::string parent;      // the bridge it hangs below; "" at a root
  std::uint32_t code = 0;  // class, subclass and interface: 0x030200 is a GPU
  std::uint16_t vendor = 0;
  std::uint16_t device = 0;
  std::uint16_t subsystem_vendor = 0;
  std::uint16_t subsystem_device = 0;
  int numa_node = -1;
  int generation = 0;     // of the link to the parent at its best; 0: it does not say
  int width = 0;          // lanes of it, at best …
  int current_width = 0;  // … and now; 0: it does not say
  bool has_link = false;  // it is a PCI Express device that says something of its link
  bool operator==(const PciFunction&) const = default;
};

// A port to a network.
struct NetworkPort {
  std::string name;            // eth0, mlx5_0
  std::string bus_id;          // "" when it is no PCI device
  std::int64_t megabits = 0;   // per second; 0: it does not say
  bool is_up = true;           // there is something at the other end of the cable
  bool is_infiniband = false;  // or RoCE: messages that do not go through the system
  std::string guid;            // of the adapter; "" without
  int port = 0;
  bool operator==(const NetworkPort&) const = default;
};

// What the driver of a GPU adds.
struct DriverGpu {
  struct Link {            // an NVLink that is on
    std::string target;    // bus id of the other end
    std::uint32_t code{};  // its class, where it is known
  };
  std::string bus_id;
  std::string name;
  int sm = 0;         // compute capability times ten; 0 unknown
  Bytes memory = {};  // 0 unknown
  std::vector<Link> links;
  std::vector<std::string> peers;  // bus ids of GPUs whose memory it can reach
  bool knows_peers = false;
};

struct Machine {
  std::string name;                  // of the host
  std::vector<std::string> readers;  // who was asked: sysfs, hwloc, nvml, cuda
  CpuModel cpu;
  std::vector<NumaNode> nodes;     // ascending; at least one, each with a core
  std::vector<PciFunction> pci;    // ascending by bus id
  std::vector<NetworkPort> ports;  // ascending by name
  std::vector<DriverGpu> gpus;     // in the driver's order; empty without a driver

  [[nodiscard]] const PciFunction* find(const std::string& bus_id) const;
  [[nodiscard]] const DriverGpu* driver_gpu(const std::string& bus_id) const;
};

// As Linux writes it, whoever says it: 0000:65:00.0 for 00000000:65:00.0.
std::string plain_bus_id(std::string_view text);

// What a PCI function is to us.
bool is_nvidia_gpu(const PciFunction& function);
bool is_other_gpu(const PciFunction& function);  // another maker's that computes

}  // namespace twinrun::exec
