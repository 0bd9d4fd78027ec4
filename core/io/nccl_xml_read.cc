#include "core/io/nccl_xml_read.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/io/nccl_xml_document.h"

namespace twinrun {
namespace {

constexpr std::int64_t kLargestNumber = 1'000'000'000;
constexpr std::size_t kMostCpus = 256;  // each is joined with each
constexpr Bandwidth kSuspiciouslySlow = gigabytes_per_second(1);

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

void append(std::string& list, std::string_view more, char separator) {
  if (!more.empty()) {
    list += list.empty() ? "" : std::string(1, separator);
    list += more;
  }
}

// The ports of one NIC, until all of the file is read.
struct Ports {
  std::size_t vertex = 0;
  std::string bus_ids;
  std::vector<std::string> guids;
  std::string names;
  std::map<std::pair<std::string, std::int64_t>, Bandwidth> speeds;  // by guid and port
};

// GPU-direct is off when every element of a kind says gdr="0".
struct GpuDirect {
  bool any = false;
  bool any_allows = false;
  void note(pugi::xml_node node) {
    any = true;
    any_allows = any_allows || NcclXmlDocument::text(node, "gdr") != "0";
  }
  [[nodiscard]] bool allow() const { return !any || any_allows; }
};

class NcclReader {
 public:
  NcclReader(const NcclXmlDocument& document,
             const ImportOptions& options,
             Diagnostics& diagnostics)
      : document_(document), options_(options), diagnostics_(diagnostics) {
    if (!options.assume_bridge.empty()) {
      assumed_bridge_ = parse_pcie_speed(options.assume_bridge);
      if (!assumed_bridge_) {
        throw UsageError(fmt::format("--assume-bridge {}: not a PCIe speed", options.assume_bridge),
                         "write the generation and the lanes, as in gen5x16");
      }
    }
  }

  NcclGraph read() {
    graph_.name = NcclXmlDocument::text(document_.system(), "name");
    for (const pugi::xml_node cpu : document_.system().children("cpu")) {
      read_cpu(cpu);
    }
    if (graph_.vertices.empty()) {
      diagnostics_.error("E0317", document_.place(document_.system()),
                         "there is no <cpu> in this topology",
                         "NCCL writes one for each NUMA node, with the PCI devices below it");
    }
    if (cpus_ > kMostCpus) {
      diagnostics_.error("E0313", document_.place(document_.system()),
                         fmt::format("there are more than {} CPUs", kMostCpus),
                         "one <cpu> is a NUMA node: is this the right file?");
    }
    finish_nics();
    warn_about_gaps();
    graph_.gpu_direct = gpus_.allow() && nets_.allow();
    diagnostics_.throw_if_errors();
    return std::move(graph_);
  }

 private:
  void read_cpu(pugi::xml_node node) {
    ++cpus_;
    NcclVertex cpu;
    cpu.kind = VertexKind::kCpu;
    cpu.place = document_.place(node);
    cpu.order = integer(node, "numaid", -1, kLargestNumber).value_or(-1);
    cpu.id = std::to_string(cpu.order);
    cpu.host = NcclXmlDocument::text(node, "host_hash");
    cpu.cpu_model = static_cast<int>(integer(node, "modelid", 0, 1 << 20).value_or(0));
    const std::string_view arch = NcclXmlDocument::text(node, "arch");
    const std::string_view vendor = NcclXmlDocument::text(node, "vendor");
    cpu.vendor = arch == "arm64"            ? "arm"
                 : arch == "ppc64"          ? "power"
                 : vendor == "GenuineIntel" ? "intel"
                 : vendor == "AuthenticAMD" ? "amd"
                                            : "";
    const std::size_t index = add(std::move(cpu), 0);
    graph_.vertices[index].parent = index;
    for (const pugi::xml_node child : node.children()) {
      if (std::string_view(child.name()) == "pci") {
        read_pci(child, index);
      } else if (std::string_view(child.name()) == "nic") {
        NcclVertex nic;
        nic.place = document_.place(child);
        nic.bandwidth = kLocalBandwidth;
        read_nic(child, nic, index, "");
      }
    }
  }

  void read_pci(pugi::xml_node node, std::size_t parent) {
    NcclVertex device;
    device.place = document_.place(node);
    device.id = lower(NcclXmlDocument::text(node, "busid"));
    if (device.id.empty()) {
      diagnostics_.error("E0315", device.place, "<pci> has no busid",
                         "busid=\"0000:65:00.0\" says which device it is");
      return;
    }
    if (!bus_ids_.insert(device.id).second) {
      diagnostics_.error("E0316", device.place, fmt::format("bus id {} is used twice", device.id),
                         "each <pci> is another device; correct one of the two");
      return;
    }
    for (const char* part : {"vendor", "device", "subsystem_vendor", "subsystem_device"}) {
      device.pci_ids = device.pci_ids << 16 |
                       static_cast<std::uint64_t>(integer(node, part, 0, 0xFFFF).value_or(0));
    }
    const PciClass kind = class_of(node);
    read_speed(node, kind, device);
    switch (kind) {
      case PciClass::kGpu:
        return read_gpu(node, std::move(device), parent);
      case PciClass::kNic:
        return read_nic_device(node, std::move(device), parent);
      case PciClass::kBridge:
        return read_bridge(node, std::move(device), parent);
      case PciClass::kNvswitch:   // its links are listed at the GPUs
      case PciClass::kCpuBridge:  // the CPU itself
        return;
    }
  }

  // What hangs below decides; the class only where the file says nothing more.
  static PciClass class_of(pugi::xml_node node) {
    if (node.child("gpu")) {
      return PciClass::kGpu;
    }
    return node.child("nic") ? PciClass::kNic
                             : pci_class(lower(NcclXmlDocument::text(node, "class")));
  }

  void read_speed(pugi::xml_node node, PciClass kind, NcclVertex& device) {
    const std::string_view text = NcclXmlDocument::text(node, "link_speed");
    const std::optional<int> generation = pcie_generation(text);
    PcieSpeed speed;  // gen3 x16 is NCCL's guess as well
    speed.generation = generation.value_or(speed.generation);
    const std::int64_t width = integer(node, "link_width", 0, 64).value_or(0);
    speed.width = width == 0 ? speed.width : static_cast<int>(width);
    if (!generation && unknown_speeds_++ == 0) {
      first_unknown_speed_ = device.place;
    }
    const bool forwards_for_gpus = kind == PciClass::kBridge || kind == PciClass::kGpu;
    if (forwards_for_gpus && pcie_bandwidth(speed) < kSuspiciouslySlow) {
      if (assumed_bridge_) {
        speed = *assumed_bridge_;
        device.link_source = fmt::format("user: --assume-bridge {}", options_.assume_bridge);
      } else {
        diagnostics_.warning(
            "W0205", device.place,
            fmt::format("{} {} reports {} x{} ({:.1f} GB/s)",
                        kind == PciClass::kGpu ? "GPU" : "bridge", device.id,
                        text.substr(0, text.find(" PCIe")), speed.width,
                        to_gigabytes_per_second(pcie_bandwidth(speed))),
            "virtual bridge of a VM? give the physical tree with NCCL_TOPO_FILE, or "
            "--assume-bridge gen5x16");
      }
    }
    device.bandwidth = pcie_bandwidth(speed);
    device.line_rate = pcie_line_rate(speed);
  }

  void read_bridge(pugi::xml_node node, NcclVertex bridge, std::size_t parent) {
    bridge.kind = VertexKind::kPcieSwitch;
    const std::size_t index = add(std::move(bridge), parent);
    for (const pugi::xml_node child : node.children()) {
      if (std::string_view(child.name()) == "pci") {
        read_pci(child, index);
      } else if (std::string_view(child.name()) == "pcilink") {
        graph_.pci_links.push_back(
            {index, lower(NcclXmlDocument::text(child, "target")), document_.place(child)});
      }
    }
  }

  void read_gpu(pugi::xml_node node, NcclVertex gpu, std::size_t parent) {
    const pugi::xml_node element = node.child("gpu");
    gpu.kind = VertexKind::kGpu;
    gpu.has_element = static_cast<bool>(element);
    if (!element && document_.has_gpu_elements()) {
      diagnostics_.warning(
          "W0212", gpu.place,
          fmt::format("{} is a GPU by its class but has no <gpu>: left out", gpu.id),
          "NCCL leaves it out too; remove the element or add the <gpu>");
      return;
    }
    gpu.sm = static_cast<int>(integer(element, "sm", 0, 999).value_or(0));
    gpu.order = integer(element, "dev", -1, kLargestNumber).value_or(-1);
    gpus_.note(element);
    const std::size_t index = add(std::move(gpu), parent);
    for (const pugi::xml_node link : element.children("nvlink")) {
      graph_.nvlinks.push_back({index, lower(NcclXmlDocument::text(link, "target")),
                                pci_class(lower(NcclXmlDocument::text(link, "tclass"))),
                                integer(link, "count", 1, 1000).value_or(1),
                                document_.place(link)});
    }
    for (const pugi::xml_node link : element.children("c2c")) {
      const auto megabytes = integer(link, "bw", 1, kLargestNumber);
      const auto count = integer(link, "count", 1, 1000);
      graph_.c2c.push_back(
          {index, count.value_or(1), Bandwidth{static_cast<double>(megabytes.value_or(0)) * 1e6}});
    }
  }

  void read_nic_device(pugi::xml_node node, NcclVertex nic, std::size_t parent) {
    const std::string bus_id = nic.id;
    if (const pugi::xml_node element = node.child("nic")) {
      read_nic(element, nic, parent, bus_id);
    } else if (document_.has_net_elements()) {
      diagnostics_.warning(
          "W0212", nic.place,
          fmt::format("{} is a NIC by its class but has no <net>: left out", bus_id),
          "NCCL leaves it out too; remove the element or add the <nic> and <net>");
    } else {
      nic.has_element = false;
      nic.kind = VertexKind::kNic;
      nic.rate = options_.nic_rate.value_or(Bandwidth{1.25e9});
      add(std::move(nic), parent);
    }
  }

  // All ports of one PCI device, its functions .0 and .1 among them, are one NIC, and so are ports
  // with one guid: they share what is behind them.
  void read_nic(pugi::xml_node element,
                const NcclVertex& nic,
                std::size_t parent,
                const std::string& bus_id) {
    for (const pugi::xml_node net : element.children("net")) {
      if (NcclXmlDocument::text(net, "net") == "0") {
        continue;  // a physical port that NCCL fused into a virtual one
      }
      const std::string guid = lower(NcclXmlDocument::text(net, "guid"));
      const bool has_guid = std::strtoull(guid.c_str(), nullptr, 16) != 0;
      const std::string name(NcclXmlDocument::text(net, "name"));
      const std::string device = bus_id.substr(0, bus_id.rfind('.'));
      Ports& ports = ports_of(has_guid ? guid : "", device, nic, parent);
      if (!bus_id.empty() && ports.bus_ids.find(bus_id) == std::string::npos) {
        append(ports.bus_ids, bus_id, '+');
      }
      if (has_guid &&
          std::find(ports.guids.begin(), ports.guids.end(), guid) == ports.guids.end()) {
        ports.guids.push_back(guid);
      }
      append(ports.names, name, '+');
      read_port(net, has_guid ? guid : name, ports);
    }
  }

  void read_port(pugi::xml_node net, const std::string& owner, Ports& ports) {
    NcclVertex& vertex = graph_.vertices[ports.vertex];
    const std::int64_t megabits = integer(net, "speed", -1, kLargestNumber).value_or(0);
    vertex.has_element = vertex.has_element && megabits > 0;
    const Bandwidth speed = megabits > 0 ? Bandwidth{static_cast<double>(megabits) * 125e3}
                                         : options_.nic_rate.value_or(Bandwidth{1.25e9});
    const std::int64_t port = integer(net, "port", -1, kLargestNumber).value_or(0);
    Bandwidth& known = ports.speeds[{owner, port}];
    known = std::max(known, speed);
    const double latency = net.attribute("latency").as_double();
    vertex.latency = std::max(vertex.latency, microseconds(std::clamp(latency, 0.0, 1e9)));
    const std::int64_t order = integer(net, "dev", -1, kLargestNumber).value_or(-1);
    vertex.order = vertex.order < 0 ? order : vertex.order;
    nets_.note(net);
  }

  Ports& ports_of(const std::string& guid,
                  const std::string& device,
                  const NcclVertex& like,
                  std::size_t parent) {
    const auto by_guid = nic_of_.find(guid);
    const auto by_device = nic_of_.find(device);
    std::size_t index = nics_.size();
    if (!guid.empty() && by_guid != nic_of_.end()) {
      index = by_guid->second;
    } else if (!device.empty() && by_device != nic_of_.end()) {
      index = by_device->second;
    } else {
      NcclVertex nic = like;
      nic.kind = VertexKind::kNic;
      nics_.push_back({add(std::move(nic), parent), "", {}, "", {}});
    }
    for (const std::string& key : {guid, device}) {
      if (!key.empty()) {
        nic_of_.emplace(key, index);
      }
    }
    return nics_[index];
  }

  void finish_nics() {
    for (const Ports& ports : nics_) {
      NcclVertex& nic = graph_.vertices[ports.vertex];
      for (const auto& [port, speed] : ports.speeds) {
        nic.rate.bytes_per_s += speed.bytes_per_s;
      }
      nic.id = ports.bus_ids;
      append(nic.id, fmt::format("{}", fmt::join(ports.guids, "+")), '/');
      append(nic.id, ports.names, '/');
    }
  }

  void warn_about_gaps() {
    if (unknown_speeds_ > 0) {
      diagnostics_.warning(
          "W0211", first_unknown_speed_,
          fmt::format("{} PCI links do not say their speed: taken as gen3, as NCCL does",
                      unknown_speeds_),
          "write link_speed=\"16.0 GT/s PCIe\" where the hardware is known");
    }
    const auto silent = [](const NcclVertex& v) {
      return v.kind == VertexKind::kNic && !v.has_element;
    };
    const auto& all = graph_.vertices;
    const auto first = std::find_if(all.begin(), all.end(), silent);
    if (first != all.end() && !options_.nic_rate) {
      diagnostics_.warning(
          "W0202", first->place,
          fmt::format("{} NICs do not say their speed: taken as 10 Gb/s, as NCCL does",
                      std::count_if(all.begin(), all.end(), silent)),
          "give the rate of one with --nic 200Gb/s");
    }
  }

  std::optional<std::int64_t> integer(pugi::xml_node node,
                                      const char* attribute,
                                      std::int64_t least,
                                      std::int64_t most) {
    return document_.integer(node, attribute, least, most, diagnostics_);
  }

  std::size_t add(NcclVertex vertex, std::size_t parent) {
    vertex.parent = parent;
    graph_.vertices.push_back(std::move(vertex));
    return graph_.vertices.size() - 1;
  }

  const NcclXmlDocument& document_;
  const ImportOptions& options_;
  Diagnostics& diagnostics_;
  std::optional<PcieSpeed> assumed_bridge_;
  NcclGraph graph_;
  std::set<std::string> bus_ids_;
  std::vector<Ports> nics_;
  std::map<std::string, std::size_t> nic_of_;  // by guid and by PCI device, into nics_
  std::size_t cpus_ = 0;
  std::size_t unknown_speeds_ = 0;
  Place first_unknown_speed_;
  GpuDirect gpus_;
  GpuDirect nets_;
};

}  // namespace

NcclGraph read_nccl_xml(const Source& source,
                        const ImportOptions& options,
                        Diagnostics& diagnostics) {
  const NcclXmlDocument document(source, diagnostics);
  return NcclReader(document, options, diagnostics).read();
}

}  // namespace twinrun
