#include "tests/exec/discover/fake_system.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include <fmt/format.h>

namespace twinrun::exec {

namespace fs = std::filesystem;

FakeSystem::FakeSystem() {
  std::string pattern = (fs::temp_directory_path() / "twinrun_machine_XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    throw std::runtime_error("no folder for a fake machine");
  }
  root_ = pattern;
}

FakeSystem::~FakeSystem() {
  std::error_code error;
  fs::remove_all(root_, error);
}

void FakeSystem::write(const std::string& path, std::string_view text) {
  fs::create_directories(fs::path(root_ + path).parent_path());
  std::ofstream(root_ + path) << text << '\n';
}

void FakeSystem::remove(const std::string& path) { fs::remove_all(root_ + path); }

// Relative, as the kernel's are.
void FakeSystem::link(const std::string& path, const std::string& target) {
  const fs::path folder = fs::path(path).parent_path();
  fs::create_directories(root_ + folder.string());
  if (!fs::exists(root_ + path)) {
    fs::create_symlink(fs::path(target).lexically_relative(folder), root_ + path);
  }
}

void FakeSystem::add_processors(int nodes, int cores_of_node, long kibibytes_of_node) {
  const int cores = nodes * cores_of_node;
  write("/sys/devices/system/cpu/online", fmt::format("0-{}", 2 * cores - 1));
  for (int cpu = 0; cpu < 2 * cores; ++cpu) {
    write(fmt::format("/sys/devices/system/cpu/cpu{}/topology/core_cpus_list", cpu),
          fmt::format("{},{}", cpu % cores, cpu % cores + cores));
  }
  for (int node = 0; node < nodes; ++node) {
    const std::string folder = fmt::format("/sys/devices/system/node/node{}", node);
    const int first = node * cores_of_node;
    const int last = first + cores_of_node - 1;
    write(folder + "/cpulist",
          fmt::format("{}-{},{}-{}", first, last, first + cores, last + cores));
    write(folder + "/meminfo",
          fmt::format("Node {0} MemTotal:       {1} kB\nNode {0} MemFree: 7 kB", node,
                      kibibytes_of_node));
  }
  write("/proc/sys/kernel/hostname", "fake");
}

void FakeSystem::set_cpu_model(std::string_view vendor,
                               int model,
                               std::string_view name,
                               std::string_view flags) {
  write(
      "/proc/cpuinfo",
      fmt::format("processor\t: 0\nvendor_id\t: {}\ncpu family\t: 23\nmodel\t\t: {}\nmodel name\t: "
                  "{}\ncpu MHz\t\t: 2000.000\nflags\t\t: {}\n",
                  vendor, model, name, flags));
}

void FakeSystem::add(const Pci& pci) {
  std::string folder = "/sys/devices/pci" + pci.way.front().substr(0, 7);
  for (const std::string& bus_id : pci.way) {
    folder += "/" + bus_id;
  }
  write(folder + "/class", pci.code);
  write(folder + "/vendor", pci.vendor);
  write(folder + "/device", pci.device);
  write(folder + "/subsystem_vendor", "0x0000");
  write(folder + "/subsystem_device", "0x0000");
  write(folder + "/numa_node", std::to_string(pci.node));
  if (!pci.speed.empty()) {
    write(folder + "/max_link_speed", pci.speed);
    write(folder + "/max_link_width", pci.width);
    write(folder + "/current_link_speed", pci.speed);
    write(folder + "/current_link_width", pci.current_width);
  }
  link("/sys/bus/pci/devices/" + pci.way.back(), folder);
}

void FakeSystem::add_ethernet(const std::string& name, const Pci& of, std::string_view megabits) {
  add(of);
  const std::string folder =
      fs::path("/sys/bus/pci/devices/" + of.way.back() + "/net/" + name).string();
  write(folder + "/speed", megabits);
  write(folder + "/operstate", "up");
  fs::create_symlink("../..", root_ + folder + "/device");
  link("/sys/class/net/" + name, folder);
}

void FakeSystem::add_infiniband(const std::string& name,
                                const Pci& of,
                                std::string_view rate,
                                std::string_view guid) {
  add(of);
  const std::string folder =
      fs::path("/sys/bus/pci/devices/" + of.way.back() + "/infiniband/" + name).string();
  write(folder + "/node_guid", guid);
  write(folder + "/ports/1/rate", rate);
  write(folder + "/ports/1/state", "4: ACTIVE");
  fs::create_symlink("../..", root_ + folder + "/device");
  link("/sys/class/infiniband/" + name, folder);
}

namespace {

std::string bus_id(int bus, int device) { return fmt::format("0000:{:02x}:{:02x}.0", bus, device); }

}  // namespace

std::string dgx_gpu(int index) { return bus_id(32 * (index / 2) + 3 + index % 2, 0); }

void add_dgx(FakeSystem& system) {
  system.add_processors(2, 4, 528'482'304);  // 504 GiB
  system.set_cpu_model("AuthenticAMD", 49, "AMD EPYC 7742 64-Core Processor",
                       "fpu sse2 avx avx2 fma");
  system.write("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3400000");
  int adapter = 0;
  for (int k = 0; k < 4; ++k) {
    FakeSystem::Pci port;
    port.node = k / 2;
    port.way = {bus_id(32 * k, 1)};
    system.add(port);
    port.way.push_back(bus_id(32 * k + 1, 0));
    system.add(port);
    for (int i = 0; i < 4; ++i) {
      FakeSystem::Pci below = port;
      below.way.push_back(bus_id(32 * k + 2, i));
      system.add(below);
      below.way.push_back(bus_id(32 * k + 3 + i, 0));
      if (i < 2) {
        below.code = "0x030200";
        below.vendor = "0x10de";
        below.device = "0x20b0";
        system.add(below);
      } else {
        below.code = "0x020700";
        below.vendor = "0x15b3";
        below.device = "0x101b";
        system.add_infiniband(fmt::format("mlx5_{}", adapter), below, "200 Gb/sec (4X HDR)",
                              fmt::format("0c42:a103:0011:{:04x}", adapter + 1));
        ++adapter;
      }
    }
  }
}

}  // namespace twinrun::exec
