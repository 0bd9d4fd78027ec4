#pragma once

#include <vector>

#include "exec/discover/machine.h"
#include "exec/discover/system_files.h"

namespace twinrun::exec {

// A machine from /sys and /proc. Whatever is missing there is missing in it; a machine without a
// word about its processors has one node with one core.
Machine read_sysfs(const SystemFiles& files);

// Parts of it.
CpuModel read_cpu_model(const SystemFiles& files);
std::vector<NumaNode> read_numa_nodes(const SystemFiles& files);
std::vector<PciFunction> read_pci(const SystemFiles& files);
std::vector<NetworkPort> read_ports(const SystemFiles& files);
std::vector<DriverGpu> read_driver_files(const SystemFiles& files);  // bus ids and names

}  // namespace twinrun::exec
