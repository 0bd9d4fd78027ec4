#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "exec/discover/system_files.h"

namespace twinrun::exec {

// /sys and /proc of a machine that does not exist, as files of a folder of their own, which goes
// away with it.
class FakeSystem {
 public:
  FakeSystem();
  FakeSystem(const FakeSystem&) = delete;
  FakeSystem& operator=(const FakeSystem&) = delete;
  ~FakeSystem();

  [[nodiscard]] SystemFiles files() const { return SystemFiles(root_); }
  [[nodiscard]] const std::string& root() const { return root_; }

  void write(const std::string& path, std::string_view text);
  void remove(const std::string& path);

  // ---- processors
  // Nodes of so many cores with two hardware threads each; the first threads of all cores come
  // first, as Linux counts on most machines. Memory in KiB.
  void add_processors(int nodes, int cores_of_node, long kibibytes_of_node);
  // x86, with the flags of an instruction set such as "sse2 avx avx2 fma".
  void set_cpu_model(std::string_view vendor,
                     int model,
                     std::string_view name,
                     std::string_view flags);

  // ---- PCI
  struct Pci {
    std::vector<std::string> way;  // bus ids of the bridges above it, from the root, and its own
    std::string code = "0x060400";
    std::string vendor = "0x1000";
    std::string device = "0x0001";
    std::string speed = "16.0 GT/s PCIe";
    std::string width = "16";
    std::string current_width = "16";
    int node = 0;
  };
  void add(const Pci& pci);
  // An interface of a PCI device; megabits as the kernel writes them.
  void add_ethernet(const std::string& name, const Pci& of, std::string_view megabits);
  void add_infiniband(const std::string& name,
                      const Pci& of,
                      std::string_view rate,
                      std::string_view guid);

 private:
  void link(const std::string& path, const std::string& target);

  std::string root_;
};

// Two sockets of four cores; at each two switches, with two GPUs (A100 40GB) and two adapters of
// 200 Gb/s below each. Bus ids: switch k has bus 32k + 1, its GPUs 32k + 3 and 32k + 4.
void add_dgx(FakeSystem& system);
std::string dgx_gpu(int index);  // its bus id

}  // namespace twinrun::exec
