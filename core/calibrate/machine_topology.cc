#include "core/calibrate/machine_topology.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

namespace twinrun {
namespace {

constexpr std::string_view kDevice = "measured-core";

// To three digits: more are noise.
double three_digits(double value) {
  if (value <= 0) {
    return 0;
  }
  const double unit = std::pow(10, std::floor(std::log10(value)) - 2);
  return std::round(value / unit) * unit;
}

Bandwidth three_digit_rate(double bytes_per_s) {
  return {std::round(three_digits(bytes_per_s) / 1e3) * 1e3};  // whole kB/s read back exactly
}

Time three_digit_time(double seconds) {
  return Time{std::llround(three_digits(seconds) * 1e9) * 1000};
}

double one_digit(double pct) { return std::round(pct * 10) / 10; }

// Of the largest copies, which no cache holds.
Bandwidth slowest_large_copy(const ComputeSpeed& compute) {
  const StreamingPoint* largest = nullptr;
  for (const StreamingPoint& point : compute.streaming) {
    if (point.kind == "copy" && (largest == nullptr || point.bytes > largest->bytes)) {
      largest = &point;
    }
  }
  return largest == nullptr ? Bandwidth{} : three_digit_rate(largest->rate.bytes_per_s);
}

DeviceSpec device_of(const MeasuredMachine& machine) {
  DeviceSpec device;
  device.name = kDevice;
  device.kind = VertexKind::kCpu;
  device.cores = 1;
  device.peak[static_cast<std::size_t>(Dtype::kFp32)] = {
      std::ceil(best_product_rate(machine.compute, Dtype::kFp32) / 1e9) * 1e9};
  device.memory = machine.memory;
  device.memory_bandwidth = slowest_large_copy(machine.compute);
  device.launch_overhead = machine.compute.op_overhead;
  device.products = machine.compute.products;
  device.streaming = machine.compute.streaming;
  device.spread_pct = machine.compute.spread_pct;
  device.source = machine.source;
  return device;
}

PartSpec part_of(std::int64_t count) {
  PartSpec part;
  part.name = "cpu";
  part.count = count;
  part.kind = VertexKind::kCpu;
  part.device = kDevice;
  return part;
}

LinkSpec link_of(const MeasuredMachine& machine) {
  LinkSpec link;
  link.bandwidth = three_digit_rate(machine.message.bytes_per_s);
  link.latency = three_digit_time(machine.message.latency_s);
  link.spread_pct = one_digit(machine.message.spread_pct);
  link.source = machine.source;
  return link;
}

// Messages that cost compute less than this share of a core are not seen beside its spread.
constexpr double kUnseenShare = 0.02;

// A core never moves less than a message does that has it to itself. Where compute was not seen to
// suffer, it moves so much that it would not be.
double moved_by_a_core(const MeasuredMachine& machine) {
  const double message = machine.message.bytes_per_s;
  return machine.overlap.moved_per_core_s > 0 ? std::max(machine.overlap.moved_per_core_s, message)
                                              : message / kUnseenShare;
}

CoresSpec cores_of(const MeasuredMachine& machine) {
  CoresSpec cores;
  cores.vertices = {"node*/cpu*"};
  cores.count = machine.cores;
  cores.moves = three_digit_rate(moved_by_a_core(machine));
  cores.wake = three_digit_time(machine.wake_s);
  cores.footprint = machine.footprint;
  cores.source = fmt::format("{}; compute beside messages took {:.2f} times as long",
                             machine.source, machine.overlap.slowdown);
  return cores;
}

TopologySpec named(const MeasuredMachine& machine, std::string name, std::string description) {
  TopologySpec spec;
  spec.name = std::move(name);
  spec.description = std::move(description);
  spec.source = machine.source;
  spec.devices.push_back(device_of(machine));
  return spec;
}

}  // namespace

TopologySpec topology_of_threads(const MeasuredMachine& machine) {
  TopologySpec spec = named(machine, "measured-cpu",
                            fmt::format("this machine: CPU devices on {} cores", machine.cores));
  TemplateSpec one;
  one.name = "cpu";
  one.parts.push_back(part_of(machine.cores));
  LinkSpec link = link_of(machine);
  link.from = {"cpu*"};
  link.to = {"cpu*"};
  link.kind = LinkKind::kSocket;
  one.links.push_back(link);
  one.source = machine.source;
  spec.templates.push_back(one);
  NodesSpec nodes;
  nodes.template_name = "cpu";
  spec.nodes.push_back(nodes);
  spec.cores.push_back(cores_of(machine));
  return spec;
}

TopologySpec topology_of_hosts(const MeasuredMachine& machine, const Hosts& hosts) {
  TopologySpec spec =
      named(machine, "measured-hosts", fmt::format("{} hosts as MPI finds them", hosts.count));
  TemplateSpec one;
  one.name = "host";
  one.parts.push_back(part_of(1));
  one.source = machine.source;
  spec.templates.push_back(one);
  NodesSpec nodes;
  nodes.template_name = "host";
  nodes.count = hosts.count;
  spec.nodes.push_back(nodes);
  PartSpec network;
  network.name = "switch";
  network.kind = VertexKind::kSwitch;
  spec.switches.push_back(network);
  LinkSpec link = link_of(machine);
  link.from = {"node*/cpu0"};
  link.to = {"switch0"};
  link.kind = LinkKind::kNetwork;
  link.latency = Time{link.latency.ps / 2};  // there are two on a way
  spec.links.push_back(link);
  CoresSpec cores = cores_of(machine);
  cores.moved_by = MovedBy::kBoth;
  cores.sharing = hosts.on_one_machine ? CoreSharing::kAll : CoreSharing::kMachine;
  spec.cores.push_back(cores);
  return spec;
}

}  // namespace twinrun
