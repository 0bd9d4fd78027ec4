#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <sched.h>

#include "exec/discover/read_sysfs.h"

namespace twinrun::exec {
namespace {

constexpr const char* kCpus = "/sys/devices/system/cpu";
constexpr const char* kNodes = "/sys/devices/system/node";

int number_in(const std::string& text) {
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string vendor_of(const std::string& info) {
  const std::string vendor = value_of(info, "vendor_id");
  if (vendor == "GenuineIntel") {
    return "intel";
  }
  if (vendor == "AuthenticAMD") {
    return "amd";
  }
  if (!value_of(info, "CPU implementer").empty()) {
    return "arm";
  }
  return value_of(info, "cpu").starts_with("POWER") ? "power" : "";
}

// Two units for fused multiply-add, as server processors have; of AVX-512 some have one only.
int flops_per_cycle(const std::string& info) {
  const std::string flags = " " + value_of(info, "flags") + value_of(info, "Features") + " ";
  const auto has = [&](std::string_view flag) {
    return flags.find(fmt::format(" {} ", flag)) != std::string::npos;
  };
  if (has("avx512f")) {
    return 64;
  }
  if (has("avx2") && has("fma")) {
    return 32;
  }
  return has("asimd") ? 16 : has("avx") ? 16 : has("sse2") ? 8 : 0;
}

// What a machine says now differs a little each time; a description should not.
double to_tenths(double value) { return std::round(10 * value) / 10; }

double gigahertz(const SystemFiles& files, const std::string& info) {
  const auto kilohertz = files.number(std::string(kCpus) + "/cpu0/cpufreq/cpuinfo_max_freq");
  if (kilohertz && *kilohertz > 0) {
    return to_tenths(static_cast<double>(*kilohertz) / 1e6);
  }
  std::string clock = value_of(info, "cpu MHz");
  if (clock.empty()) {
    clock = value_of(info, "clock");  // POWER: "3800.000000MHz"
  }
  double megahertz = 0;
  std::from_chars(clock.data(), clock.data() + clock.size(), megahertz);
  return megahertz > 0 && megahertz < 1e5 ? to_tenths(megahertz / 1e3) : 0;
}

// Those that this process may run on.
bool is_allowed(int cpu) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  const bool is_known = ::sched_getaffinity(0, sizeof allowed, &allowed) == 0;
  return !is_known || cpu >= CPU_SETSIZE || CPU_ISSET(static_cast<std::size_t>(cpu), &allowed);
}

std::vector<int> usable_cpus(const SystemFiles& files) {
  std::vector<int> out = numbers_of_list(files.line(std::string(kCpus) + "/online").value_or(""));
  if (files.are_of_this_machine()) {
    std::erase_if(out, [](int cpu) { return !is_allowed(cpu); });
  }
  return out;
}

// Hardware threads of one core share it: the first that may be used stands for all.
int core_of(const SystemFiles& files, int cpu, const std::vector<int>& usable) {
  const std::string folder = fmt::format("{}/cpu{}/topology", kCpus, cpu);
  for (const char* const name : {"/core_cpus_list", "/thread_siblings_list"}) {
    if (const auto list = files.line(folder + name)) {
      int first = cpu;
      for (const int sibling : numbers_of_list(*list)) {
        const bool is_usable = std::find(usable.begin(), usable.end(), sibling) != usable.end();
        first = is_usable ? std::min(first, sibling) : first;
      }
      return first;
    }
  }
  return cpu;
}

Bytes memory_in(const std::string& text, std::string_view key) {
  std::int64_t kibibytes = 0;
  const std::string value = value_of(text, key);
  std::from_chars(value.data(), value.data() + value.size(), kibibytes);
  return {std::max<std::int64_t>(0, std::min(kibibytes, std::int64_t{1} << 50) * 1024)};
}

std::vector<int> node_numbers(const SystemFiles& files) {
  std::vector<int> out;
  for (const std::string& name : files.names(kNodes)) {
    if (name.starts_with("node") && name.find_first_not_of("0123456789", 4) == name.npos) {
      out.push_back(number_in(name.substr(4)));
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

// Machines whose kernel knows no NUMA, and descriptions that leave it out.
std::vector<NumaNode> one_node(const SystemFiles& files, const std::vector<int>& cpus) {
  std::set<int> cores;
  for (const int cpu : cpus) {
    cores.insert(core_of(files, cpu, cpus));
  }
  const std::string memory = files.text("/proc/meminfo").value_or("");
  if (cores.empty()) {
    cores.insert(0);
  }
  return {{0, {cores.begin(), cores.end()}, memory_in(memory, "MemTotal"), {}, {}}};
}

}  // namespace

CpuModel read_cpu_model(const SystemFiles& files) {
  const std::string info = files.text("/proc/cpuinfo").value_or("");
  CpuModel out;
  out.vendor = vendor_of(info);
  out.family = number_in(value_of(info, "cpu family"));
  out.model = number_in(value_of(info, "model"));
  out.name = value_of(info, "model name");
  out.gigahertz = gigahertz(files, info);
  out.flops_per_cycle = flops_per_cycle(info);
  return out;
}

std::vector<NumaNode> read_numa_nodes(const SystemFiles& files) {
  const std::vector<int> cpus = usable_cpus(files);
  std::vector<NumaNode> out;
  for (const int number : node_numbers(files)) {
    const std::string folder = fmt::format("{}/node{}", kNodes, number);
    std::set<int> cores;
    for (const int cpu : numbers_of_list(files.line(folder + "/cpulist").value_or(""))) {
      if (std::find(cpus.begin(), cpus.end(), cpu) != cpus.end()) {
        cores.insert(core_of(files, cpu, cpus));
      }
    }
    const std::string memory = files.text(folder + "/meminfo").value_or("");
    const Bytes size = memory_in(memory, fmt::format("Node {} MemTotal", number));
    if (!cores.empty()) {  // memory of a GPU or of an expander is a node without processors
      out.push_back({number, {cores.begin(), cores.end()}, size, {}, {}});
    }
  }
  return out.empty() ? one_node(files, cpus) : out;
}

}  // namespace twinrun::exec
