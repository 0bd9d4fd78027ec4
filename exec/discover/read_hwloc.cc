#include "exec/discover/read_hwloc.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "exec/discover/hwloc_topology.h"

namespace twinrun::exec {

#if !defined(TWINRUN_HAS_HWLOC)

std::optional<Machine> read_hwloc(const std::string& /*library*/) { return std::nullopt; }
std::optional<Machine> read_hwloc_of(const std::string& /*file_or_description*/) {
  return std::nullopt;
}
std::string why_no_hwloc(const std::string& /*library*/) {
  return "this twinrun was built without the header of hwloc 2";
}
bool has_hwloc_header() { return false; }

#else

namespace {

constexpr int kUsbController = 0x0C03;  // the first two bytes of a class
constexpr int kWireless = 0x0280;       // …

// ---- processors and memory

// Descriptions, and kernels that say nothing of cores, have hardware threads only.
std::vector<hwloc_obj_t> cores_of(const HwlocTopology& topology) {
  std::vector<hwloc_obj_t> cores = topology.objects(HWLOC_OBJ_CORE);
  return cores.empty() ? topology.objects(HWLOC_OBJ_PU) : cores;
}

// Of the caches that are next to memory: those that one of these processors uses.
Bytes last_caches(const HwlocTopology& topology, const std::vector<int>& cpus) {
  for (const hwloc_obj_type_t type :
       {HWLOC_OBJ_L5CACHE, HWLOC_OBJ_L4CACHE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE}) {
    Bytes out{};
    for (const hwloc_obj_t cache : topology.objects(type)) {
      const bool is_used = std::any_of(cpus.begin(), cpus.end(),
                                       [&](int cpu) { return topology.has(cache->cpuset, cpu); });
      out.count += is_used ? static_cast<std::int64_t>(cache->attr->cache.size) : 0;
    }
    if (out.count > 0) {
      return out;
    }
  }
  return {};
}

// Cores that are near to several memories belong to the first of them: others, of high bandwidth or
// of an expander, have none of their own.
std::vector<NumaNode> nodes_of(const HwlocTopology& topology) {
  std::vector<hwloc_obj_t> memories = topology.objects(HWLOC_OBJ_NUMANODE);
  std::sort(memories.begin(), memories.end(),
            [](hwloc_obj_t a, hwloc_obj_t b) { return a->os_index < b->os_index; });
  std::set<int> taken;
  std::vector<NumaNode> out;
  for (const hwloc_obj_t memory : memories) {
    NumaNode node;
    node.number = static_cast<int>(memory->os_index);
    node.memory = {static_cast<std::int64_t>(memory->attr->numanode.local_memory)};
    for (const hwloc_obj_t core : cores_of(topology)) {
      const std::vector<int> cpus = topology.usable(core->cpuset);
      if (!cpus.empty() && topology.has(memory->cpuset, cpus.front()) &&
          taken.insert(cpus.front()).second) {
        node.cores.push_back(cpus.front());
      }
    }
    if (!node.cores.empty()) {
      std::sort(node.cores.begin(), node.cores.end());
      node.cache = last_caches(topology, node.cores);
      out.push_back(std::move(node));
    }
  }
  return out;
}

int number_of(const std::string& text) {
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

CpuModel cpu_model_of(const HwlocTopology& topology) {
  CpuModel out;
  const std::vector<hwloc_obj_t> packages = topology.objects(HWLOC_OBJ_PACKAGE);
  if (packages.empty()) {
    return out;
  }
  const auto info = [&](const char* name) { return info_of(packages.front(), name); };
  const std::string vendor = info("CPUVendor");
  out.vendor = vendor == "GenuineIntel"                ? "intel"
               : vendor == "AuthenticAMD"              ? "amd"
               : !info("CPUImplementer").empty()       ? "arm"
               : info("CPUModel").starts_with("POWER") ? "power"
                                                       : "";
  out.family = number_of(info("CPUFamilyNumber"));
  out.model = number_of(info("CPUModelNumber"));
  out.name = info("CPUModel");
  return out;
}

// ---- PCI devices

using PciWords = hwloc_obj_attr_u::hwloc_pcidev_attr_s;

// Bridges have a side of PCI above them, or the processor.
const PciWords* pci_of(hwloc_obj_t object) {
  if (object->type == HWLOC_OBJ_PCI_DEVICE) {
    return &object->attr->pcidev;
  }
  const bool is_bridge = object->type == HWLOC_OBJ_BRIDGE &&
                         object->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI;
  return is_bridge ? &object->attr->bridge.upstream.pci : nullptr;
}

std::string bus_id_of(const PciWords& pci) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", pci.domain, pci.bus, pci.dev, pci.func);
}

// hwloc knows the rate only. Twice the generation is half the lanes: it is taken as wide as it may
// be, which is the same rate to everybody. 16 lanes of gen2 and 8 of gen3 are 1.5 % apart.
void set_link(double gigabytes, PciFunction& function) {
  constexpr std::array<double, 6> kOfLane = {2.0 / 8,
                                             4.0 / 8,
                                             8 * 128.0 / 130 / 8,
                                             16 * 128.0 / 130 / 8,
                                             32 * 128.0 / 130 / 8,
                                             64 * 242.0 / 256 / 8};
  constexpr double kNear = 0.005;
  function.has_link = gigabytes > 0;
  for (std::size_t i = 0; i < kOfLane.size(); ++i) {
    for (const int width : {16, 8, 4, 2, 1}) {
      const double rate = kOfLane[i] * width;
      if (gigabytes > rate * (1 - kNear) && gigabytes < rate * (1 + kNear)) {
        function.generation = static_cast<int>(i) + 1;
        function.width = width;
        return;
      }
    }
  }
}

// The one NUMA node of ours that it is near to; -1 where there are several.
int node_near(const HwlocTopology& topology,
              hwloc_obj_t object,
              const std::vector<NumaNode>& nodes) {
  while (object->nodeset == nullptr && object->parent != nullptr) {
    object = object->parent;
  }
  int out = -1;
  int count = 0;
  for (const NumaNode& node : nodes) {
    if (topology.has(object->nodeset, node.number)) {
      out = node.number;
      ++count;
    }
  }
  return count == 1 ? out : -1;
}

std::vector<PciFunction> functions_of(const HwlocTopology& topology,
                                      const std::vector<NumaNode>& nodes) {
  std::vector<PciFunction> out;
  for (const hwloc_obj_type_t type : {HWLOC_OBJ_BRIDGE, HWLOC_OBJ_PCI_DEVICE}) {
    for (const hwloc_obj_t object : topology.objects(type)) {
      const PciWords* const pci = pci_of(object);
      if (pci == nullptr) {
        continue;
      }
      PciFunction function;
      function.bus_id = bus_id_of(*pci);
      if (const auto* const above = pci_of(object->parent); above != nullptr) {
        function.parent = bus_id_of(*above);
      }
      function.code = static_cast<std::uint32_t>(pci->class_id) << 8;
      function.vendor = pci->vendor_id;
      function.device = pci->device_id;
      function.subsystem_vendor = pci->subvendor_id;
      function.subsystem_device = pci->subdevice_id;
      function.numa_node = node_near(topology, object, nodes);
      set_link(static_cast<double>(pci->linkspeed), function);
      out.push_back(std::move(function));
    }
  }
  std::sort(out.begin(), out.end(),
            [](const PciFunction& a, const PciFunction& b) { return a.bus_id < b.bus_id; });
  return out;
}

// ---- network ports

const PciWords* adapter_of(hwloc_obj_t device) {
  for (hwloc_obj_t above = device->parent; above != nullptr; above = above->parent) {
    if (const auto* const pci = pci_of(above); pci != nullptr) {
      return pci;
    }
  }
  return nullptr;
}

std::vector<NetworkPort> ports_of(const HwlocTopology& topology,
                                  hwloc_obj_osdev_type_t type,
                                  const std::set<std::string>& known) {
  std::vector<NetworkPort> out;
  for (const hwloc_obj_t device : topology.objects(HWLOC_OBJ_OS_DEVICE)) {
    const PciWords* const adapter = adapter_of(device);
    const bool is_wanted = device->attr->osdev.type == type &&
                           (adapter == nullptr || (adapter->class_id != kUsbController &&
                                                   adapter->class_id != kWireless));
    NetworkPort port;
    port.name = device->name == nullptr ? "" : device->name;
    port.bus_id = adapter == nullptr ? "" : bus_id_of(*adapter);
    port.is_infiniband = type == HWLOC_OBJ_OSDEV_OPENFABRICS;
    port.port = port.is_infiniband ? 1 : 0;
    port.guid = info_of(device, "NodeGUID");
    std::erase(port.guid, ':');
    const std::string state = info_of(device, "Port1State");
    port.is_up = state.empty() || state == "4";  // active
    if (is_wanted && !port.name.empty() && !known.contains(port.bus_id)) {
      out.push_back(std::move(port));
    }
  }
  std::sort(out.begin(), out.end(),
            [](const NetworkPort& a, const NetworkPort& b) { return a.name < b.name; });
  return out;
}

// As /sys is read: interfaces of an InfiniBand adapter are the same ports once more.
std::vector<NetworkPort> ports_of(const HwlocTopology& topology) {
  std::vector<NetworkPort> out = ports_of(topology, HWLOC_OBJ_OSDEV_OPENFABRICS, {});
  std::set<std::string> known;
  for (const NetworkPort& port : out) {
    known.insert(port.bus_id);
  }
  known.erase("");
  std::vector<NetworkPort> others = ports_of(topology, HWLOC_OBJ_OSDEV_NETWORK, known);
  out.insert(out.end(), others.begin(), others.end());
  return out;
}

std::optional<Machine> machine_of(const HwlocTopology& topology) {
  Machine machine;
  machine.readers = {"hwloc"};
  machine.nodes = nodes_of(topology);
  if (machine.nodes.empty()) {
    return std::nullopt;
  }
  for (const hwloc_obj_t root : topology.objects(HWLOC_OBJ_MACHINE)) {
    machine.name = info_of(root, "HostName");
  }
  machine.cpu = cpu_model_of(topology);
  machine.pci = functions_of(topology, machine.nodes);
  machine.ports = ports_of(topology);
  return machine;
}

}  // namespace

std::optional<Machine> read_hwloc(const std::string& library) {
  const HwlocTopology topology(library, "");
  return topology.is_loaded() && topology.is_of_this_machine() ? machine_of(topology)
                                                               : std::nullopt;
}

std::optional<Machine> read_hwloc_of(const std::string& file_or_description) {
  const HwlocTopology topology(hwloc_library(), file_or_description);
  return topology.is_loaded() ? machine_of(topology) : std::nullopt;
}

std::string why_no_hwloc(const std::string& library) {
  const HwlocCalls calls(library);
  if (calls.is_complete()) {
    return "";
  }
  return calls.is_open() ? fmt::format("{} does not speak the interface of hwloc 2", library)
                         : fmt::format("{} cannot be opened", library);
}

bool has_hwloc_header() { return true; }

#endif

std::optional<Machine> read_hwloc() { return read_hwloc(hwloc_library()); }

std::string why_no_hwloc() { return why_no_hwloc(hwloc_library()); }

}  // namespace twinrun::exec
