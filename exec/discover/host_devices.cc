#include "exec/discover/host_devices.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

namespace twinrun::exec {
namespace {

// Of cores and memories that nobody measured.
constexpr Bandwidth kCopyOfOne = gigabytes_per_second(8.7);  // as the catalogue's cpu-core
constexpr Bandwidth kMostOfNode = gigabytes_per_second(100);
constexpr FlopRate kPeakOfCore{175e9};  // …
constexpr Time kLaunch = microseconds(1);

FlopRate peak_of_core(const CpuModel& cpu) {
  const double known = cpu.gigahertz * 1e9 * cpu.flops_per_cycle;
  return known > 0 ? FlopRate{known} : kPeakOfCore;
}

std::string source_of_peak(const CpuModel& cpu) {
  return cpu.gigahertz > 0 && cpu.flops_per_cycle > 0
             ? fmt::format("{} FLOP a cycle by its instruction set, guessed, x {:.4g} GHz",
                           cpu.flops_per_cycle, cpu.gigahertz)
             : "peak guessed, as the catalogue's cpu-core";
}

// Others add to what the first says.
std::string reader_of(const Machine& machine) {
  return machine.readers.empty() ? "not known" : machine.readers.front();
}

DeviceSpec cpu_device(const Machine& machine, const NumaNode& node, std::size_t cores) {
  const CpuModel& cpu = machine.cpu;
  DeviceSpec out;
  out.kind = VertexKind::kCpu;
  out.vendor = cpu.vendor;
  out.cpu_model = cpu.vendor.empty() ? 0 : cpu.model;
  out.cores = static_cast<int>(cores);
  const double peak = peak_of_core(cpu).flop_per_s * static_cast<double>(cores);
  out.peak[static_cast<std::size_t>(Dtype::kFp32)] = {peak};
  out.peak[static_cast<std::size_t>(Dtype::kFp64)] = {peak / 2};
  const std::string maker = cpu.vendor.empty() ? "cpu" : "cpu-" + cpu.vendor;
  const std::string make = cpu.vendor.empty() ? maker : fmt::format("{}-{}", maker, cpu.model);
  out.name = cores == 1 ? make + "-core" : fmt::format("{}-{}c", make, cores);
  out.source = fmt::format("{}{}{}; {}; {}", reader_of(machine), cpu.name.empty() ? "" : ": ",
                           cpu.name, source_of_peak(cpu), source_of_copies(node));
  return out;
}

}  // namespace

Bandwidth copy_of_one(const NumaNode& node) {
  return node.copy.bytes_per_s > 0 ? node.copy : kCopyOfOne;
}

Bandwidth copy_of_all(const NumaNode& node) {
  if (node.copies.bytes_per_s > 0) {
    return node.copies;
  }
  return std::min(kMostOfNode, Bandwidth{copy_of_one(node).bytes_per_s *
                                         static_cast<double>(node.cores.size())});
}

std::string source_of_copies(const NumaNode& node) {
  return node.copy.bytes_per_s > 0
             ? fmt::format("memory: measured, copies by one and by {} threads", node.cores.size())
             : "memory bandwidth guessed: --measure measures it";
}

DeviceSpec processor_device(const Machine& machine, const NumaNode& node) {
  DeviceSpec out = cpu_device(machine, node, node.cores.size());
  out.memory_bandwidth = copy_of_all(node);
  return out;
}

DeviceSpec core_device(const Machine& machine, const NumaNode& node) {
  DeviceSpec out = cpu_device(machine, node, 1);
  out.memory_bandwidth = copy_of_one(node);
  out.launch_overhead = kLaunch;
  out.source += "; launch overhead guessed";
  return out;
}

DeviceSpec memory_device(const Machine& machine, const NumaNode& node) {
  DeviceSpec out;
  out.kind = VertexKind::kMemory;
  out.name = "memory";
  out.memory = node.memory;
  out.memory_bandwidth = copy_of_all(node);
  out.source = fmt::format("{}; {}", node.memory.count > 0 ? reader_of(machine) : "size not known",
                           source_of_copies(node));
  return out;
}

}  // namespace twinrun::exec
