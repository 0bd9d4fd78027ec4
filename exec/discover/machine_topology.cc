#include "exec/discover/machine_topology.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/io/flat_machine.h"
#include "core/io/link_list.h"
#include "exec/discover/gpu_devices.h"
#include "exec/discover/host_devices.h"
#include "exec/discover/machine_xml.h"
#include "exec/discover/peer_rules.h"

namespace twinrun::exec {
namespace {

constexpr Bandwidth kUnknownNic = gigabytes_per_second(1.25);  // NCCL's guess
constexpr Time kCoreLatency = microseconds(0.2);               // as in topologies/cpu.json
constexpr Time kMemoryLatency = microseconds(0.1);

bool has_same_figures(const DeviceSpec& a, const DeviceSpec& b) {
  return a.kind == b.kind && a.sm == b.sm && a.cores == b.cores && a.peak == b.peak &&
         a.memory == b.memory && a.memory_bandwidth == b.memory_bandwidth && a.source == b.source;
}

class MachineTopology {
 public:
  MachineTopology(const Machine& machine, TopologySpec imported)
      : machine_(machine), spec_(std::move(imported)), host_(spec_.templates.front()) {}

  TopologySpec describe(const ImportOptions& options) {
    const std::size_t gpus = count(VertexKind::kGpu);
    std::erase_if(spec_.devices,
                  [](const DeviceSpec& device) { return device.kind == VertexKind::kCpu; });
    name_nics(options.nic_rate);
    if (gpus > 0) {
      if (options.gpu_device.empty()) {
        name_gpus();
      }
      put_processors();
    } else {
      put_cores();
    }
    put_memories(gpus > 0);
    put_words(gpus);
    put_fabric();
    if (gpus > 0) {
      apply_peers(machine_, spec_);
    }
    return std::move(spec_);
  }

 private:
  [[nodiscard]] std::size_t count(VertexKind kind) const {
    std::int64_t out = 0;
    for (const PartSpec& part : host_.parts) {
      out += part.kind == kind ? part.count : 0;
    }
    return static_cast<std::size_t>(out);
  }

  // The name under which a device is in the topology: another of the same name may differ.
  std::string keep(DeviceSpec device) {
    const std::string name = device.name;
    for (int more = 2;; ++more) {
      const auto found = std::find(spec_.devices.begin(), spec_.devices.end(), device);
      if (found == spec_.devices.end()) {
        spec_.devices.push_back(device);
        return device.name;
      }
      if (has_same_figures(*found, device)) {
        return device.name;
      }
      device.name = fmt::format("{}-{}", name, more);
    }
  }

  // Vertices of a part, each with its device and its id; neighbours of one device are one entry.
  struct Named {
    std::string device;
    std::string id;
  };
  [[nodiscard]] static std::vector<PartSpec> parts_of(std::string_view name,
                                                      VertexKind kind,
                                                      const std::vector<Named>& vertices) {
    std::vector<PartSpec> out;
    for (const Named& vertex : vertices) {
      if (out.empty() || out.back().device != vertex.device) {
        out.emplace_back();
        out.back().name = name;
        out.back().kind = kind;
        out.back().count = 0;
        out.back().device = vertex.device;
      }
      ++out.back().count;
      if (!vertex.id.empty()) {
        out.back().ids.push_back(vertex.id);
      }
    }
    return out;
  }

  // In place of the parts of that kind, which are neighbours, or at the end.
  void replace_parts(std::string_view name, VertexKind kind, const std::vector<Named>& vertices) {
    auto& parts = host_.parts;
    const auto is_old = [&](const PartSpec& part) { return part.kind == kind; };
    const auto place = std::find_if(parts.begin(), parts.end(), is_old) - parts.begin();
    std::erase_if(parts, is_old);
    std::vector<PartSpec> fresh = parts_of(name, kind, vertices);
    parts.insert(parts.begin() + place, fresh.begin(), fresh.end());
  }

  // What goes through the system pays for it, and shares its wire badly.
  void name_nics(const std::optional<Bandwidth>& given_rate) {
    const bool are_all_known =
        std::all_of(machine_.ports.begin(), machine_.ports.end(),
                    [](const NetworkPort& port) { return !port.is_up || port.megabits > 0; });
    const Bandwidth assumed = given_rate.value_or(kUnknownNic);
    for (DeviceSpec& device : spec_.devices) {
      if (device.kind != VertexKind::kNic) {
        continue;
      }
      const char* const rate = are_all_known || device.rate != assumed ? "sysfs: line rate"
                               : given_rate ? "user: --nic where it is not said"
                                            : "guessed: as NCCL does where it is not said";
      device.is_tcp = device.latency == kTcpLatency;
      device.source = fmt::format("{}; {}", rate,
                                  device.is_tcp ? "latency of TCP in one rack: rule of thumb"
                                                : "latency counted on the links");
    }
  }

  void name_gpus() {
    std::vector<Named> gpus;
    for (const FlatVertex& vertex : flatten(host_).vertices) {
      if (vertex.kind != VertexKind::kGpu) {
        continue;
      }
      const DriverGpu* const gpu = machine_.driver_gpu(vertex.id);
      const std::optional<DeviceSpec> own =
          gpu == nullptr ? std::nullopt : device_unlike_catalogue(*gpu, vertex.device);
      gpus.push_back({own ? keep(*own) : vertex.device, vertex.id});
    }
    std::erase_if(spec_.devices, [&](const DeviceSpec& device) {
      return device.kind == VertexKind::kGpu &&
             std::none_of(gpus.begin(), gpus.end(),
                          [&](const Named& gpu) { return gpu.device == device.name; });
    });
    replace_parts("gpu", VertexKind::kGpu, gpus);
  }

  void put_processors() {
    std::vector<Named> processors;
    for (const NumaNode& node : machine_.nodes) {
      processors.push_back({keep(processor_device(machine_, node)), std::to_string(node.number)});
    }
    replace_parts("cpu", VertexKind::kCpu, processors);
  }

  // A core for each processor that was there: what hung at a NUMA node hangs at its first core.
  void put_cores() {
    std::vector<Named> cores;
    std::vector<std::size_t> first;  // by node
    for (const NumaNode& node : machine_.nodes) {
      const std::string device = keep(core_device(machine_, node));
      first.push_back(cores.size());
      for (const int cpu : node.cores) {
        cores.push_back({device, fmt::format("{}/{}", node.number, cpu)});
      }
    }
    host_.links = links_at(first, cores.size());
    host_.p2p = TemplateSpec().p2p;  // there are none that it could be about
    replace_parts("cpu", VertexKind::kCpu, cores);
    for (std::size_t i = 0; i < first.size(); ++i) {
      join_cores(machine_.nodes[i], first[i], cores.size());
    }
  }

  [[nodiscard]] std::vector<LinkSpec> links_at(const std::vector<std::size_t>& first,
                                               std::size_t cores) const {
    const FlatMachine flat = flatten(host_);
    std::map<std::string, std::size_t> totals;
    for (const FlatVertex& vertex : flat.vertices) {
      ++totals[vertex.part];
    }
    const auto end = [&](std::size_t index) -> LinkList::End {
      const FlatVertex& vertex = flat.vertices[index];
      return vertex.kind == VertexKind::kCpu
                 ? LinkList::End{vertex.part, first[vertex.index], cores}
                 : LinkList::End{vertex.part, vertex.index, totals[vertex.part]};
    };
    LinkList out;
    for (const FlatLink& edge : flat.edges) {
      LinkSpec link = *edge.link;
      link.pairing = Pairing::kAll;
      out.add(end(edge.from), end(edge.to), std::move(link));
    }
    return out.finish();
  }

  void join_cores(const NumaNode& node, std::size_t first, std::size_t total) {
    if (node.cores.size() < 2) {
      return;
    }
    LinkSpec link;
    link.kind = LinkKind::kSocket;
    link.from = link.to = {pattern_of_cores(node, first, total)};
    link.bandwidth = copy_of_one(node);
    link.latency = kCoreLatency;
    link.source = source_of_copies(node) + "; latency: rule of thumb";
    host_.links.push_back(std::move(link));
  }

  static std::string pattern_of_cores(const NumaNode& node, std::size_t first, std::size_t total) {
    std::vector<std::size_t> indices;
    for (std::size_t i = 0; i < node.cores.size(); ++i) {
      indices.push_back(first + i);
    }
    return index_pattern("cpu", indices, total);
  }

  void put_memories(bool has_processors) {
    const std::size_t total = count(VertexKind::kCpu);
    std::vector<Named> memories;
    std::size_t first = 0;
    for (std::size_t i = 0; i < machine_.nodes.size(); ++i) {
      const NumaNode& node = machine_.nodes[i];
      memories.push_back({keep(memory_device(machine_, node)), ""});
      LinkSpec link;
      link.kind = LinkKind::kBus;
      link.duplex = Duplex::kHalf;
      link.from = {fmt::format("mem{}", i)};
      link.to = {has_processors ? fmt::format("cpu{}", i) : pattern_of_cores(node, first, total)};
      link.bandwidth = has_processors ? copy_of_all(node) : copy_of_one(node);
      link.latency = kMemoryLatency;
      link.source = source_of_copies(node) + "; latency: rule of thumb";
      host_.links.push_back(std::move(link));
      first += node.cores.size();
    }
    replace_parts("mem", VertexKind::kMemory, memories);
  }

  void put_words(std::size_t gpus) {
    std::size_t cores = 0;
    for (const NumaNode& node : machine_.nodes) {
      cores += node.cores.size();
    }
    const auto counted = [](std::size_t number, const char* what) {
      return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
    };
    const std::string devices = gpus > 0 ? counted(gpus, "GPU") + ", " : "";
    spec_.description =
        fmt::format("{}{}, {} of {}{}{}", devices, counted(count(VertexKind::kNic), "NIC"),
                    counted(machine_.nodes.size(), "NUMA node"), counted(cores, "core"),
                    machine_.cpu.name.empty() ? "" : ": ", machine_.cpu.name);
    spec_.source = fmt::format("this machine: {}", fmt::join(machine_.readers, ", "));
    host_.source = spec_.source;
  }

  // So that a cluster of such machines is a matter of one number.
  void put_fabric() {
    if (count(VertexKind::kNic) > 0) {
      FabricSpec fabric;
      fabric.kind = "single-switch";
      fabric.source = "guessed: nobody looked beyond this machine";
      spec_.fabric = std::move(fabric);
    }
  }

  const Machine& machine_;
  TopologySpec spec_;
  TemplateSpec& host_;  // the only one of the spec
};

}  // namespace

TopologySpec topology_of(const Machine& machine,
                         const Source& xml,
                         const ImportOptions& options,
                         Diagnostics& diagnostics) {
  ImportOptions import = options;
  import.may_be_bare = true;
  return MachineTopology(machine, import_nccl_xml(xml, import, diagnostics)).describe(options);
}

}  // namespace twinrun::exec
