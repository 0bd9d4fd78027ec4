#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/io/link_list.h"
#include "core/io/nccl_devices.h"
#include "core/io/nccl_graph.h"
#include "core/io/nccl_xml.h"
#include "core/io/nccl_xml_read.h"

namespace twinrun {
namespace {

// The file has no latencies: rules of thumb, the same as in topologies/.
constexpr Time kNvlinkLatency = microseconds(0.6);
constexpr Time kNvswitchLatency = microseconds(0.3);
constexpr Time kPcieLatency = microseconds(0.4);
constexpr Time kSocketLatency = microseconds(0.5);

constexpr std::size_t kNvswitch = static_cast<std::size_t>(-1);

std::string_view part_name(VertexKind kind) {
  switch (kind) {
    case VertexKind::kGpu:
      return "gpu";
    case VertexKind::kCpu:
      return "cpu";
    case VertexKind::kMemory:
      return "mem";
    case VertexKind::kPcieSwitch:
      return "pcie";
    case VertexKind::kNvswitch:
      return "nvswitch";
    case VertexKind::kNic:
      return "nic";
    case VertexKind::kSwitch:
      return "switch";
  }
  return "part";
}

class NcclImporter {
 public:
  NcclImporter(NcclGraph graph, const ImportOptions& options, Diagnostics& diagnostics)
      : graph_(std::move(graph)),
        options_(options),
        diagnostics_(diagnostics),
        devices_(options.gpu_device, diagnostics) {}

  TopologySpec import(const std::string& file) {
    fuse_broadcom_switches(graph_.vertices);
    number(VertexKind::kGpu);
    number(VertexKind::kCpu);
    number(VertexKind::kPcieSwitch);
    number(VertexKind::kNic);
    complain_if_empty();
    warn_about_several_hosts();

    const std::string& given = options_.name.empty() ? graph_.name : options_.name;
    spec_.name = name_from_file(given.empty() ? file : given);
    spec_.source = "nccl-xml";
    spec_.description =
        fmt::format("{} GPUs, {} NICs, {} CPUs, imported from NCCL XML", count(VertexKind::kGpu),
                    count(VertexKind::kNic), count(VertexKind::kCpu));
    template_.name = spec_.name;
    template_.source = "nccl-xml";
    add_parts();
    spec_.devices = devices_.all();
    add_pci_tree();
    add_nvlinks();
    add_other_links();
    add_sockets();
    set_rules();
    template_.links = links_.finish();
    spec_.nodes.push_back({});
    spec_.nodes.back().template_name = template_.name;
    spec_.templates.push_back(std::move(template_));
    return std::move(spec_);
  }

 private:
  std::vector<std::size_t>& of(VertexKind kind) { return numbered_[kind]; }
  std::size_t count(VertexKind kind) { return of(kind).size(); }

  // gpu0 is the GPU with dev 0, cpu0 the NUMA node 0. Where the file does not number, bus ids do:
  // that is how the driver counts.
  void number(VertexKind kind) {
    std::vector<std::size_t>& order = of(kind);
    std::set<std::int64_t> seen;
    bool by_order = kind != VertexKind::kPcieSwitch;
    for (std::size_t i = 0; i < graph_.vertices.size(); ++i) {
      const NcclVertex& vertex = graph_.vertices[i];
      if (vertex.kind == kind && !vertex.removed) {
        order.push_back(i);
        by_order = by_order && vertex.order >= 0 && seen.insert(vertex.order).second;
      }
    }
    if (by_order) {
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return graph_.vertices[a].order < graph_.vertices[b].order;
      });
    } else if (kind != VertexKind::kCpu) {
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return graph_.vertices[a].id < graph_.vertices[b].id;
      });
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
      number_[order[i]] = i;
    }
  }

  void complain_if_empty() {
    if (options_.may_be_bare) {
      return;
    }
    if (count(VertexKind::kGpu) + count(VertexKind::kNic) == 0) {
      diagnostics_.error("E0317", graph_.vertices.front().place,
                         "there is no GPU and no NIC below the CPUs",
                         "NCCL_TOPO_DUMP_FILE writes them; a hand-written file needs at least <pci "
                         "class=\"0x030200\"> for each GPU");
      diagnostics_.throw_if_errors();
    }
    if (count(VertexKind::kGpu) == 0) {
      diagnostics_.warning("W0201", graph_.vertices.front().place, "the file lists no GPU",
                           "add <pci class=\"0x030200\" busid=\"…\"/> where the GPUs are");
    }
  }

  void warn_about_several_hosts() {
    std::set<std::string> hosts;
    for (const std::size_t cpu : of(VertexKind::kCpu)) {
      hosts.insert(graph_.vertices[cpu].host);
    }
    if (hosts.size() < 2) {
      return;
    }
    diagnostics_.warning(
        "W0213", graph_.vertices.front().place,
        fmt::format("the file describes {} hosts: imported as one node", hosts.size()),
        "dump one host at a time, and say how many with \"nodes\"");
    for (const std::size_t cpu : of(VertexKind::kCpu)) {
      graph_.vertices[cpu].id = graph_.vertices[cpu].host + "/" + graph_.vertices[cpu].id;
    }
  }

  void add_parts() {
    for (const VertexKind kind :
         {VertexKind::kGpu, VertexKind::kCpu, VertexKind::kPcieSwitch, VertexKind::kNic}) {
      for (const std::size_t i : of(kind)) {
        add_to_part(kind, devices_.name_of(graph_.vertices[i]), graph_.vertices[i].id);
      }
    }
    add_nvswitch();
  }

  // Six NVSwitches are one vertex: every GPU reaches every other through all of them at once.
  void add_nvswitch() {
    std::string ids;
    std::set<std::string> seen;
    for (const NcclNvlink& link : graph_.nvlinks) {
      if (is_to_switch(link) && seen.insert(link.target).second) {
        ids += (ids.empty() ? "" : "+") + link.target;
      }
    }
    if (!seen.empty()) {
      add_to_part(VertexKind::kNvswitch, "", ids);
    }
  }

  static bool is_to_switch(const NcclNvlink& link) {
    return link.target_class == PciClass::kNvswitch || link.target_class == PciClass::kBridge ||
           link.target_class == PciClass::kNic;
  }

  void add_to_part(VertexKind kind, const std::string& device, const std::string& id) {
    if (template_.parts.empty() || template_.parts.back().kind != kind ||
        template_.parts.back().device != device) {
      PartSpec part;
      part.name = part_name(kind);
      part.count = 0;
      part.kind = kind;
      part.device = device;
      template_.parts.push_back(std::move(part));
    }
    ++template_.parts.back().count;
    template_.parts.back().ids.push_back(id);
  }

  LinkList::End end(std::size_t vertex) {
    if (vertex == kNvswitch) {
      return {"nvswitch", 0, 1};
    }
    const VertexKind kind = graph_.vertices[vertex].kind;
    return {std::string(part_name(kind)), number_.at(vertex), count(kind)};
  }

  static LinkSpec link_of(LinkKind kind, Bandwidth bandwidth, Bandwidth line_rate, Time latency) {
    LinkSpec link;
    link.kind = kind;
    link.bandwidth = bandwidth;
    link.line_rate = line_rate;
    link.latency = latency;
    link.source = "nccl-table; latency: rule of thumb";
    return link;
  }

  void add_pci_tree() {
    for (const VertexKind kind : {VertexKind::kGpu, VertexKind::kNic, VertexKind::kPcieSwitch}) {
      for (const std::size_t i : of(kind)) {
        const NcclVertex& vertex = graph_.vertices[i];
        LinkSpec link = link_of(LinkKind::kPcie, vertex.bandwidth, vertex.line_rate,
                                vertex.bandwidth < kLocalBandwidth ? kPcieLatency : Time{});
        if (vertex.link_source != "nccl-table") {
          link.source = vertex.link_source + "; latency: rule of thumb";
        }
        links_.add(end(i), end(vertex.parent), std::move(link));
      }
    }
  }

  std::size_t find_bus_id(const std::string& bus_id) const {
    for (std::size_t i = 0; i < graph_.vertices.size(); ++i) {
      const NcclVertex& vertex = graph_.vertices[i];
      if (!vertex.removed && std::string_view(vertex.id).substr(0, vertex.id.find('+')) == bus_id) {
        return i;
      }
    }
    return kNvswitch;
  }

  std::size_t cpu_of(std::size_t vertex) const {
    while (graph_.vertices[vertex].parent != vertex) {
      vertex = graph_.vertices[vertex].parent;
    }
    return vertex;
  }

  void add_nvlinks() {
    std::map<std::pair<std::size_t, std::size_t>, std::int64_t> counts;  // by GPU and far end
    std::map<std::pair<std::size_t, std::size_t>, Place> places;
    for (const NcclNvlink& link : graph_.nvlinks) {
      std::size_t far = kNvswitch;
      if (link.target_class == PciClass::kCpuBridge) {
        far = cpu_of(link.gpu);
      } else if (link.target_class == PciClass::kGpu) {
        far = find_bus_id(link.target);
        if (far == link.gpu || far == kNvswitch) {
          warn_about_nvlink(link, far == link.gpu);
          continue;
        }
      }
      counts[{link.gpu, far}] += link.count;
      places.emplace(std::pair(link.gpu, far), link.place);
    }
    for (const std::size_t gpu : of(VertexKind::kGpu)) {
      add_nvlinks_of(gpu, counts, places);
    }
  }

  void warn_about_nvlink(const NcclNvlink& link, bool to_itself) {
    const std::string& id = graph_.vertices[link.gpu].id;
    if (to_itself) {
      diagnostics_.warning(
          "W0206", link.place, fmt::format("NVLink from GPU {} to itself: left out", id),
          "write the bus id of the other GPU, or tclass=\"0x068000\" for an NVSwitch");
    } else {
      diagnostics_.warning(
          "W0207", link.place,
          fmt::format("NVLink from GPU {} to {}, which is not in the file: left out", id,
                      link.target),
          "correct the target, or add that GPU");
    }
  }

  void add_nvlinks_of(std::size_t gpu,
                      const std::map<std::pair<std::size_t, std::size_t>, std::int64_t>& counts,
                      const std::map<std::pair<std::size_t, std::size_t>, Place>& places) {
    const LinkRates rates = nvlink_rates(graph_.vertices[gpu].sm);
    for (const auto& [ends, there] : counts) {
      const auto& [from, to] = ends;
      if (from != gpu) {
        continue;
      }
      std::int64_t bonded = there;
      const bool to_gpu = to != kNvswitch && graph_.vertices[to].kind == VertexKind::kGpu;
      if (to_gpu) {
        const auto back = counts.find({to, from});
        const std::int64_t other = back == counts.end() ? 0 : back->second;
        if (other != 0 && number_.at(to) < number_.at(from)) {
          continue;  // told by the other end
        }
        if (other != there) {
          diagnostics_.warning(
              "W0208", places.at(ends),
              fmt::format("{} NVLinks from GPU {} to {}, {} back: taken as {} both ways", there,
                          graph_.vertices[from].id, graph_.vertices[to].id, other,
                          std::max(there, other)),
              "list the links at both GPUs with equal counts");
        }
        bonded = std::max(there, other);
      }
      LinkSpec link = link_of(LinkKind::kNvlink, rates.bandwidth, rates.line_rate,
                              to == kNvswitch ? kNvswitchLatency : kNvlinkLatency);
      link.count = bonded;
      links_.add(end(from), end(to), std::move(link));
    }
  }

  void add_other_links() {
    for (const NcclC2c& c2c : graph_.c2c) {
      LinkSpec link = link_of(LinkKind::kC2c, c2c.bandwidth, {}, kSocketLatency);
      link.count = c2c.count;
      link.source = "nccl-xml; latency: rule of thumb";
      links_.add(end(c2c.gpu), end(cpu_of(c2c.gpu)), std::move(link));
    }
    std::set<std::pair<std::size_t, std::size_t>> seen;
    for (const NcclPciLink& peer : graph_.pci_links) {
      const std::size_t far = find_bus_id(peer.target);
      if (far == kNvswitch || graph_.vertices[peer.from].removed) {
        diagnostics_.warning(
            "W0214", peer.place,
            fmt::format("PCI link to {}, which is not a switch of this file: left out",
                        peer.target),
            "correct the target");
      } else if (seen.insert(std::minmax(peer.from, far)).second) {
        links_.add(end(peer.from), end(far), link_of(LinkKind::kPcie, kLocalBandwidth, {}, {}));
      }
    }
  }

  // Every CPU with every other of its host.
  void add_sockets() {
    const std::vector<std::size_t>& cpus = of(VertexKind::kCpu);
    for (std::size_t a = 0; a < cpus.size(); ++a) {
      for (std::size_t b = a + 1; b < cpus.size(); ++b) {
        const NcclVertex& from = graph_.vertices[cpus[a]];
        if (from.host != graph_.vertices[cpus[b]].host) {
          continue;
        }
        const std::optional<Bandwidth> known = socket_bandwidth(from.vendor, from.cpu_model);
        if (!known) {
          warn_once(
              "W0209", from.place,
              "a CPU of unknown make: the link between sockets is taken as unlimited, as NCCL does",
              "NCCL knows vendor GenuineIntel and AuthenticAMD, arch arm64 and ppc64");
        }
        links_.add(end(cpus[a]), end(cpus[b]),
                   link_of(LinkKind::kSocket, known.value_or(kLocalBandwidth), {}, kSocketLatency));
      }
    }
  }

  void warn_once(const char* code, const Place& place, std::string message, std::string help) {
    if (warned_.insert(code).second) {
      diagnostics_.warning(code, place, std::move(message), std::move(help));
    }
  }

  void set_rules() {
    const auto& cpus = of(VertexKind::kCpu);
    const bool amd = std::all_of(cpus.begin(), cpus.end(), [&](std::size_t cpu) {
      return graph_.vertices[cpu].vendor == "amd";
    });
    if (amd && count(VertexKind::kGpu) <= 2) {
      template_.p2p = PathClass::kSys;
    }
    if (!graph_.gpu_direct) {
      template_.gpu_direct = PathClass::kLoc;
    } else if (!graph_.c2c.empty()) {
      template_.gpu_direct = PathClass::kPhb;  // NCCL's P2C: through the CPU the GPU is joined to
    }
  }

  NcclGraph graph_;
  const ImportOptions& options_;
  Diagnostics& diagnostics_;
  NcclDevices devices_;
  TopologySpec spec_;
  TemplateSpec template_;
  LinkList links_;
  std::map<VertexKind, std::vector<std::size_t>> numbered_;
  std::map<std::size_t, std::size_t> number_;
  std::set<std::string> warned_;
};

}  // namespace

TopologySpec import_nccl_xml(const Source& source,
                             const ImportOptions& options,
                             Diagnostics& diagnostics) {
  NcclGraph graph = read_nccl_xml(source, options, diagnostics);
  return NcclImporter(std::move(graph), options, diagnostics).import(source.name());
}

}  // namespace twinrun
