#include "exec/discover/machine_xml.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/io/nccl_tables.h"

namespace twinrun::exec {
namespace {

constexpr std::uint32_t kUnknownFarEnd = 0x068000;  // an NVSwitch: guests do not see those

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

class MachineXml {
 public:
  MachineXml(const Machine& machine, Diagnostics& diagnostics)
      : machine_(machine), diagnostics_(diagnostics) {
    for (const PciFunction& function : machine.pci) {
      if (is_nvidia_gpu(function)) {
        place(function);
      }
    }
    for (const NetworkPort& port : machine.ports) {
      const PciFunction* const function = port.is_up ? machine.find(port.bus_id) : nullptr;
      if (function != nullptr && ports_[port.bus_id].empty()) {
        place(*function);
      }
      if (port.is_up) {
        ports_[port.bus_id].push_back(&port);
      }
    }
  }

  std::string write() {
    out_ = fmt::format("<system version=\"1\" name=\"{}\">\n", escaped(machine_.name));
    for (const NumaNode& node : machine_.nodes) {
      write_cpu(node);
    }
    out_ += "</system>\n";
    warn();
    return std::move(out_);
  }

 private:
  // Below a switch, or else below a processor. A switch is a bridge towards the root and one for
  // each of its ports behind it: every other bridge on the way is one, as NCCL counts them. What is
  // left at the root is the processor's own port.
  void place(const PciFunction& function) {
    const PciFunction* below = &function;
    while (true) {
      const PciFunction* const port = machine_.find(below->parent);
      const PciFunction* const above = port == nullptr ? nullptr : machine_.find(port->parent);
      if (above == nullptr) {
        roots_[node_of(*below, function)].insert(below->bus_id);
        return;
      }
      children_[above->bus_id].insert(below->bus_id);
      below = above;
    }
  }

  int node_of(const PciFunction& top, const PciFunction& function) {
    for (const int number : {top.numa_node, function.numa_node}) {
      const bool is_there =
          std::any_of(machine_.nodes.begin(), machine_.nodes.end(),
                      [&](const NumaNode& node) { return node.number == number; });
      if (is_there) {
        return number;
      }
    }
    if (machine_.nodes.size() > 1) {
      homeless_.push_back(function.bus_id);
    }
    return machine_.nodes.front().number;
  }

  void write_cpu(const NumaNode& node) {
    const CpuModel& cpu = machine_.cpu;
    const char* const arch = cpu.vendor == "arm"     ? "arm64"
                             : cpu.vendor == "power" ? "ppc64"
                                                     : "x86_64";
    const char* const vendor = cpu.vendor == "intel" ? "GenuineIntel"
                               : cpu.vendor == "amd" ? "AuthenticAMD"
                                                     : "";
    out_ += fmt::format(
        "  <cpu numaid=\"{}\" arch=\"{}\" vendor=\"{}\" familyid=\"{}\" modelid=\"{}\">\n",
        node.number, arch, vendor, cpu.family, cpu.model);
    for (const std::string& bus_id : roots_[node.number]) {
      write_pci(*machine_.find(bus_id), 2);
    }
    if (&node == &machine_.nodes.front() && !ports_[""].empty()) {
      write_ports("", 2);
    }
    out_ += "  </cpu>\n";
  }

  void write_pci(const PciFunction& function, std::size_t depth) {
    const std::string indent(2 * depth, ' ');
    out_ += fmt::format(
        "{}<pci busid=\"{}\" class=\"0x{:06x}\" vendor=\"0x{:04x}\" device=\"0x{:04x}\" "
        "subsystem_vendor=\"0x{:04x}\" subsystem_device=\"0x{:04x}\"{}>\n",
        indent, function.bus_id, function.code, function.vendor, function.device,
        function.subsystem_vendor, function.subsystem_device, link_of(function));
    if (is_nvidia_gpu(function)) {
      write_gpu(function.bus_id, depth + 1);
    }
    if (!ports_[function.bus_id].empty()) {
      write_ports(function.bus_id, depth + 1);
    }
    for (const std::string& bus_id : children_[function.bus_id]) {
      write_pci(*machine_.find(bus_id), depth + 1);
    }
    out_ += indent + "</pci>\n";
  }

  // What both ends can do at their best, since links of an idle GPU slow down; but lanes do not
  // come and go. The text of speeds that are not known is left to the reader, who says so.
  std::string link_of(const PciFunction& function) {
    const PciFunction* const port = machine_.find(function.parent);
    const auto at_most = [&](int own, int others) {
      return port == nullptr || others == 0 ? own : own == 0 ? others : std::min(own, others);
    };
    const int generation = at_most(function.generation, port == nullptr ? 0 : port->generation);
    const int best = at_most(function.width, port == nullptr ? 0 : port->width);
    const int now = function.current_width;
    const bool is_narrow = now > 0 && now < best;
    if (is_narrow) {
      diagnostics_.warning(
          "W0220", {fmt::format("/sys/bus/pci/devices/{}/current_link_width", function.bus_id), ""},
          fmt::format("{} runs with {} lanes of {}", function.bus_id, now, best),
          "the fewer are taken; is it seated well, and in a slot that wide?");
    }
    std::string out;
    if (generation > 0) {
      out += fmt::format(" link_speed=\"{}\"", pcie_speed_text(generation));
    }
    const int width = is_narrow ? now : best;
    return width > 0 ? out + fmt::format(" link_width=\"{}\"", width) : out;
  }

  void write_gpu(const std::string& bus_id, std::size_t depth) {
    const DriverGpu* const found = machine_.driver_gpu(bus_id);
    if (found == nullptr) {
      return;
    }
    const std::string indent(2 * depth, ' ');
    out_ += fmt::format("{}<gpu dev=\"{}\" sm=\"{}\">\n", indent, found - machine_.gpus.data(),
                        found->sm);
    std::map<std::pair<std::string, std::uint32_t>, int> counts;
    for (const DriverGpu::Link& link : found->links) {
      ++counts[{link.target, class_of(link)}];
    }
    for (const auto& [end, count] : counts) {
      out_ += fmt::format("{}  <nvlink target=\"{}\" count=\"{}\" tclass=\"0x{:06x}\"/>\n", indent,
                          end.first, count, end.second);
    }
    out_ += indent + "</gpu>\n";
  }

  [[nodiscard]] std::uint32_t class_of(const DriverGpu::Link& link) const {
    if (link.code != 0) {
      return link.code;
    }
    const PciFunction* const end = machine_.find(link.target);
    return end == nullptr ? kUnknownFarEnd : end->code;
  }

  void write_ports(const std::string& bus_id, std::size_t depth) {
    const std::string indent(2 * depth, ' ');
    out_ += indent + "<nic>\n";
    for (const NetworkPort* const port : ports_[bus_id]) {
      out_ += fmt::format("{}  <net name=\"{}\" dev=\"{}\" port=\"{}\"", indent,
                          escaped(port->name), next_port_++, port->port);
      if (port->megabits > 0) {
        out_ += fmt::format(" speed=\"{}\"", port->megabits);
      }
      if (!port->guid.empty()) {
        out_ += fmt::format(" guid=\"0x{}\"", escaped(port->guid));
      }
      out_ += port->is_infiniband
                  ? "/>\n"
                  : fmt::format(" latency=\"{}\"/>\n", to_microseconds(kTcpLatency));
    }
    out_ += indent + "</nic>\n";
  }

  void warn() {
    for (const PciFunction& function : machine_.pci) {
      if (is_other_gpu(function)) {
        diagnostics_.warning(
            "W0221", {fmt::format("/sys/bus/pci/devices/{}", function.bus_id), ""},
            fmt::format("{} is a GPU of another maker than NVIDIA: left out", function.bus_id),
            "add a device for it to the file by hand");
      }
    }
    std::vector<std::string> down;
    for (const NetworkPort& port : machine_.ports) {
      if (!port.is_up) {
        down.push_back(port.name);
      }
    }
    if (!down.empty()) {
      diagnostics_.warning("W0222", {"/sys/class/net", ""},
                           fmt::format("nothing answers at {}: left out", fmt::join(down, ", ")),
                           "plug in the cable or bring it up, and look again");
    }
    if (!homeless_.empty()) {
      diagnostics_.warning(
          "W0223", {fmt::format("/sys/bus/pci/devices/{}/numa_node", homeless_.front()), ""},
          fmt::format("{} devices do not say which of the {} NUMA nodes they are at: taken as {}",
                      homeless_.size(), machine_.nodes.size(), machine_.nodes.front().number),
          "firmware that says so helps; or correct the links of the file");
    }
  }

  const Machine& machine_;
  Diagnostics& diagnostics_;
  std::string out_;
  std::map<int, std::set<std::string>> roots_;                    // by NUMA node
  std::map<std::string, std::set<std::string>> children_;         // by bridge
  std::map<std::string, std::vector<const NetworkPort*>> ports_;  // by adapter; "": not PCI
  std::vector<std::string> homeless_;
  int next_port_ = 0;
};

}  // namespace

std::string nccl_xml_of(const Machine& machine, Diagnostics& diagnostics) {
  return MachineXml(machine, diagnostics).write();
}

}  // namespace twinrun::exec
