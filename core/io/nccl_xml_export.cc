#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "core/io/flat_machine.h"
#include "core/io/nccl_tables.h"
#include "core/io/nccl_xml.h"

namespace twinrun {
namespace {

constexpr std::int64_t kMostVertices = 5000;  // as the import
constexpr const char* kBridgeClass = "0x060400";
constexpr const char* kGpuClass = "0x030200";
constexpr const char* kNicClass = "0x020700";
constexpr const char* kNvswitchClass = "0x068000";
constexpr const char* kCpuBridgeClass = "0x068001";

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> pieces;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    pieces.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return pieces;
}

void set(pugi::xml_node node, const char* name, const std::string& value) {
  node.append_attribute(name).set_value(value.c_str());
}

class NcclExporter {
 public:
  NcclExporter(const TopologySpec& spec, Diagnostics& diagnostics)
      : spec_(spec), diagnostics_(diagnostics) {}

  std::string write() {
    template_ = find_template();
    std::int64_t total = 0;
    for (const PartSpec& part : template_->parts) {
      total += std::min(part.count, kMostVertices);
      if (total >= kMostVertices) {
        refuse(part.place, fmt::format("more than {} devices in one node", kMostVertices));
      }
      if (!part.template_name.empty()) {
        refuse(part.place, fmt::format("template {} is nested", part.template_name));
      }
    }
    machine_ = flatten(*template_);
    placed_.assign(machine_.vertices.size(), false);
    warn_about_losses();
    pugi::xml_node system = document_.append_child("system");
    set(system, "version", "1");
    for (std::size_t i = 0; i < machine_.vertices.size(); ++i) {
      if (machine_.vertices[i].kind == VertexKind::kCpu) {
        write_cpu(system, i);
      }
    }
    warn_about_unplaced();
    std::ostringstream out;
    document_.save(out, "  ", pugi::format_indent | pugi::format_no_declaration);
    return out.str();
  }

 private:
  [[noreturn]] void refuse(const Place& place, std::string why) {
    diagnostics_.error("E0319", place, std::move(why),
                       "export one machine: a topology with one node and a template without others "
                       "inside it");
    throw InputError(diagnostics_);
  }

  const TemplateSpec* find_template() {
    if (spec_.nodes.size() != 1 || spec_.nodes.front().count != 1) {
      refuse(spec_.place, "an NCCL topology describes one node, this one has several");
    }
    const auto found = std::find_if(
        spec_.templates.begin(), spec_.templates.end(),
        [&](const TemplateSpec& one) { return one.name == spec_.nodes.front().template_name; });
    if (found == spec_.templates.end()) {
      refuse(spec_.nodes.front().place, "the template of the node is not in the topology");
    }
    return &*found;
  }

  const DeviceSpec* device_of(const FlatVertex& vertex) const {
    const auto found =
        std::find_if(spec_.devices.begin(), spec_.devices.end(),
                     [&](const DeviceSpec& device) { return device.name == vertex.device; });
    return found == spec_.devices.end() ? nullptr : &*found;
  }

  int sm_of(const FlatVertex& gpu) const {
    if (const DeviceSpec* device = device_of(gpu); device != nullptr && device->sm > 0) {
      return device->sm;
    }
    const KnownGpu* known = known_gpu_named(gpu.device);
    return known == nullptr ? 0 : known->sm;
  }

  void write_cpu(pugi::xml_node system, std::size_t index) {
    const FlatVertex& cpu = machine_.vertices[index];
    placed_[index] = true;
    pugi::xml_node node = system.append_child("cpu");
    const std::vector<std::string> ids = split(cpu.id, '/');  // host and NUMA node, or the latter
    if (ids.size() == 2) {
      set(node, "host_hash", ids.front());
    }
    set(node, "numaid", ids.empty() ? std::to_string(cpu.index) : ids.back());
    const DeviceSpec* device = device_of(cpu);
    const std::string vendor = device == nullptr ? "" : device->vendor;
    set(node, "arch", vendor == "arm" ? "arm64" : vendor == "power" ? "ppc64" : "x86_64");
    if (vendor == "intel" || vendor == "amd") {
      set(node, "vendor", vendor == "intel" ? "GenuineIntel" : "AuthenticAMD");
      set(node, "familyid", vendor == "intel" ? "6" : "23");
    }
    if (device != nullptr && device->cpu_model > 0) {
      set(node, "modelid", std::to_string(device->cpu_model));
    }
    write_children(node, index);
  }

  void write_children(pugi::xml_node node, std::size_t parent) {
    for (const FlatLink& edge : machine_.edges) {
      if (edge.link->kind != LinkKind::kPcie || (edge.from != parent && edge.to != parent)) {
        continue;
      }
      const std::size_t child = edge.from == parent ? edge.to : edge.from;
      const bool local = edge.link->bandwidth >= kLocalBandwidth;
      if (placed_[child]) {
        if (local && machine_.vertices[child].kind == VertexKind::kPcieSwitch) {
          set(node.append_child("pcilink"), "target",
              split(bus_id(machine_.vertices[child]), '+').front());
        }
        continue;
      }
      if (!local || machine_.vertices[child].kind == VertexKind::kNic) {
        placed_[child] = true;
        write_device(node, child, *edge.link);
      }
    }
  }

  void write_device(pugi::xml_node parent, std::size_t index, const LinkSpec& link) {
    const FlatVertex& vertex = machine_.vertices[index];
    switch (vertex.kind) {
      case VertexKind::kGpu:
        return write_gpu(write_pci(parent, bus_id(vertex), kGpuClass, link), index);
      case VertexKind::kNic:
        return write_nic(parent, index, link);
      case VertexKind::kPcieSwitch:
        return write_bridge(parent, index, link);
      case VertexKind::kCpu:
      case VertexKind::kMemory:
      case VertexKind::kNvswitch:
      case VertexKind::kSwitch:
        return;
    }
  }

  pugi::xml_node write_pci(pugi::xml_node parent,
                           const std::string& bus_id,
                           const char* pci_class,
                           const LinkSpec& link) {
    pugi::xml_node node = parent.append_child("pci");
    set(node, "busid", bus_id);
    set(node, "class", pci_class);
    const PcieSpeed speed = speed_of(link);
    set(node, "link_speed", std::string(pcie_speed_text(speed.generation)));
    set(node, "link_width", std::to_string(speed.width));
    return node;
  }

  PcieSpeed speed_of(const LinkSpec& link) {
    const Bandwidth wanted{link.bandwidth.bytes_per_s * static_cast<double>(link.count)};
    if (const auto exact = pcie_speed_of(wanted, link.line_rate)) {
      return *exact;
    }
    PcieSpeed nearest;
    const auto distance = [&](PcieSpeed speed) {
      return std::abs(std::log(pcie_bandwidth(speed).bytes_per_s / wanted.bytes_per_s));
    };
    for (int generation = 1; generation <= 6; ++generation) {
      for (const int width : {1, 2, 4, 8, 16}) {
        nearest = distance({generation, width}) < distance(nearest) ? PcieSpeed{generation, width}
                                                                    : nearest;
      }
    }
    lose(link.place, fmt::format("a PCIe link of {} becomes gen{} x{}", to_text(wanted),
                                 nearest.generation, nearest.width));
    return nearest;
  }

  // A switch that was fused from two levels is written as such, so that NCCL and the import fuse it
  // again.
  void write_bridge(pugi::xml_node parent, std::size_t index, const LinkSpec& link) {
    const std::vector<std::string> ids = split(bus_id(machine_.vertices[index]), '+');
    pugi::xml_node top = write_pci(parent, ids.front(), kBridgeClass, link);
    for (std::size_t i = 0; ids.size() > 1 && i < ids.size(); ++i) {
      pugi::xml_node level = i == 0 ? top : write_pci(top, ids[i], kBridgeClass, link);
      set(level, "vendor", "0x1000");
      set(level, "device", "0xc010");
      set(level, "subsystem_vendor", "0x1000");
      set(level, "subsystem_device", "0xa096");
    }
    write_children(top, index);
  }

  void write_gpu(pugi::xml_node pci, std::size_t index) {
    const FlatVertex& gpu = machine_.vertices[index];
    if (const KnownGpu* known = known_gpu_named(gpu.device)) {
      set(pci, "vendor", "0x10de");
      set(pci, "device", fmt::format("0x{:04x}", known->pci_device));
    }
    pugi::xml_node node = pci.append_child("gpu");
    set(node, "dev", std::to_string(gpu.index));
    if (const int sm = sm_of(gpu); sm > 0) {
      set(node, "sm", std::to_string(sm));
    }
    set(node, "rank", std::to_string(gpu.index));
    set(node, "gdr", gpu_direct() ? "1" : "0");
    for (const FlatLink& edge : machine_.edges) {
      if (edge.from == index || edge.to == index) {
        write_gpu_link(node, gpu, machine_.vertices[edge.from == index ? edge.to : edge.from],
                       *edge.link);
      }
    }
  }

  void write_gpu_link(pugi::xml_node node,
                      const FlatVertex& gpu,
                      const FlatVertex& far,
                      const LinkSpec& link) {
    if (link.kind == LinkKind::kC2c) {
      pugi::xml_node c2c = node.append_child("c2c");
      set(c2c, "bw", std::to_string(std::llround(link.bandwidth.bytes_per_s / 1e6)));
      set(c2c, "count", std::to_string(link.count));
      return;
    }
    if (link.kind != LinkKind::kNvlink) {
      return;
    }
    if (link.bandwidth != nvlink_rates(sm_of(gpu)).bandwidth) {
      lose(link.place, fmt::format("an NVLink of {} becomes what NCCL takes for this GPU",
                                   to_text(link.bandwidth)));
    }
    const bool to_gpu = far.kind == VertexKind::kGpu;
    const char* far_class = to_gpu                              ? kGpuClass
                            : far.kind == VertexKind::kNvswitch ? kNvswitchClass
                                                                : kCpuBridgeClass;
    // The links of a merged NVSwitch are spread over its chips again.
    const std::vector<std::string> targets = split(bus_id(far), '+');
    const auto chips = static_cast<std::int64_t>(targets.size());
    for (std::int64_t i = 0; i < chips; ++i) {
      const std::int64_t share = link.count / chips + (i < link.count % chips ? 1 : 0);
      if (share > 0) {
        pugi::xml_node nvlink = node.append_child("nvlink");
        set(nvlink, "target", targets[static_cast<std::size_t>(i)]);
        set(nvlink, "count", std::to_string(share));
        set(nvlink, "tclass", far_class);
      }
    }
  }

  // The id is bus ids, guids and names, as far as there are any: 0000:61:00.0/0x64…/mlx5_4+mlx5_5.
  void write_nic(pugi::xml_node parent, std::size_t index, const LinkSpec& link) {
    std::vector<std::string> bus_ids;
    std::vector<std::string> guids;
    std::string name;
    for (const std::string& piece : split(machine_.vertices[index].id, '/')) {
      if (piece.starts_with("0x")) {
        guids = split(piece, '+');
      } else if (piece.find(':') != std::string::npos) {
        bus_ids = split(piece, '+');
      } else {
        name = piece;
      }
    }
    if (link.bandwidth >= kLocalBandwidth) {
      return write_ports(parent.append_child("nic"), machine_.vertices[index], guids, name);
    }
    if (bus_ids.empty()) {
      bus_ids.push_back(bus_id(machine_.vertices[index]));
    }
    for (const std::string& id : bus_ids) {
      pugi::xml_node pci = write_pci(parent, id, kNicClass, link);
      write_ports(pci.append_child("nic"), machine_.vertices[index], guids,
                  id == bus_ids.front() ? name : "");
    }
  }

  void write_ports(pugi::xml_node node,
                   const FlatVertex& nic,
                   std::vector<std::string> guids,
                   const std::string& name) {
    const DeviceSpec* device = device_of(nic);
    const std::int64_t megabits =
        device == nullptr ? 0 : std::llround(device->rate.bytes_per_s / 125e3);
    if (megabits == 0) {
      lose(template_->place, fmt::format("the rate of {} is not known here", nic.device));
    }
    if (guids.empty()) {
      guids.push_back("0x0");
    }
    const auto ports = static_cast<std::int64_t>(guids.size());
    for (std::int64_t i = 0; i < ports; ++i) {
      pugi::xml_node net = node.append_child("net");
      set(net, "name", i == 0 ? name : "");
      set(net, "dev", std::to_string(nic.index));
      set(net, "speed", std::to_string(megabits / ports + (i < megabits % ports ? 1 : 0)));
      set(net, "port", "1");
      set(net, "latency",
          fmt::format("{}", device == nullptr ? 0 : to_microseconds(device->latency)));
      set(net, "guid", guids[static_cast<std::size_t>(i)]);
      set(net, "gdr", gpu_direct() ? "1" : "0");
    }
  }

  // Machines that were not imported have no bus ids: invented ones in the order of the vertices.
  static std::string bus_id(const FlatVertex& vertex) {
    if (!vertex.id.empty()) {
      return vertex.id;
    }
    const int domain = vertex.kind == VertexKind::kGpu          ? 1
                       : vertex.kind == VertexKind::kNic        ? 2
                       : vertex.kind == VertexKind::kPcieSwitch ? 3
                                                                : 4;
    return fmt::format("{:04x}:{:02x}:00.0", domain, vertex.index % 256);
  }

  bool gpu_direct() const { return template_->gpu_direct != PathClass::kLoc; }

  void lose(const Place& place, const std::string& what) {
    if (lost_.insert(what).second) {
      diagnostics_.warning("W0311", place, what, "NCCL's format cannot say more");
    }
  }

  void warn_about_losses() {
    if (spec_.fabric || !spec_.links.empty() || !spec_.overrides.empty()) {
      lose(spec_.place, "the fabric and the overrides are left out");
    }
    bool all_amd = true;
    std::size_t gpus = 0;
    for (const FlatVertex& vertex : machine_.vertices) {
      const DeviceSpec* device = device_of(vertex);
      gpus += vertex.kind == VertexKind::kGpu ? 1 : 0;
      all_amd = all_amd &&
                (vertex.kind != VertexKind::kCpu || (device != nullptr && device->vendor == "amd"));
    }
    const PathClass rule = all_amd && gpus <= 2 ? PathClass::kSys : PathClass::kPxb;
    if (template_->p2p != rule) {
      diagnostics_.warning(
          "W0312", template_->place,
          fmt::format("NCCL will allow P2P up to {}, the topology says {}", word(rule),
                      word(template_->p2p)),
          fmt::format("set NCCL_P2P_LEVEL={} when NCCL runs", word(template_->p2p)));
    }
  }

  void warn_about_unplaced() {
    for (std::size_t i = 0; i < placed_.size(); ++i) {
      const FlatVertex& vertex = machine_.vertices[i];
      if (!placed_[i] && vertex.kind != VertexKind::kNvswitch) {
        lose(template_->place, fmt::format("{}{} is left out", vertex.part, vertex.index));
      }
    }
  }

  const TopologySpec& spec_;
  Diagnostics& diagnostics_;
  const TemplateSpec* template_ = nullptr;
  FlatMachine machine_;
  std::vector<bool> placed_;  // by vertex: has its element
  std::set<std::string> lost_;
  pugi::xml_document document_;
};

}  // namespace

std::string export_nccl_xml(const TopologySpec& spec, Diagnostics& diagnostics) {
  return NcclExporter(spec, diagnostics).write();
}

}  // namespace twinrun
