#include "exec/discover/hwloc_agreement.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace twinrun::exec {
namespace {

const NumaNode* find(const std::vector<NumaNode>& nodes, int number) {
  const auto found = std::find_if(nodes.begin(), nodes.end(),
                                  [&](const NumaNode& node) { return node.number == number; });
  return found == nodes.end() ? nullptr : &*found;
}

bool have_same_numbers(const std::vector<NumaNode>& a, const std::vector<NumaNode>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const NumaNode& x, const NumaNode& y) { return x.number == y.number; });
}

std::vector<std::string> differences(const Machine& said, const Machine& machine) {
  if (!have_same_numbers(said.nodes, machine.nodes)) {
    return {"which NUMA nodes there are"};
  }
  std::vector<std::string> out;
  for (std::size_t i = 0; i < said.nodes.size(); ++i) {
    const NumaNode& one = said.nodes[i];
    const NumaNode& other = machine.nodes[i];
    if (one.cores != other.cores) {
      out.push_back(fmt::format("the cores of NUMA node {}", one.number));
    }
    if (one.memory != other.memory && one.memory.count > 0 && other.memory.count > 0) {
      out.push_back(fmt::format("the memory of NUMA node {}", one.number));
    }
  }
  for (const PciFunction& function : machine.pci) {
    const PciFunction* const other = said.find(function.bus_id);
    if (other != nullptr && other->numa_node >= 0 && function.numa_node >= 0 &&
        other->numa_node != function.numa_node) {
      out.push_back("where " + function.bus_id + " is");
    }
  }
  return out;
}

void warn(const std::vector<std::string>& about, Diagnostics& diagnostics) {
  constexpr std::size_t kMostNamed = 3;
  const std::size_t named = std::min(about.size(), kMostNamed);
  const std::string more =
      about.size() > named ? fmt::format(", and {} more", about.size() - named) : "";
  diagnostics.warning(
      "W0224", {"/sys/devices/system", ""},
      fmt::format(
          "hwloc and /sys differ about {}{}: hwloc's words are taken",
          fmt::join(about.begin(), about.begin() + static_cast<std::ptrdiff_t>(named), ", "), more),
      "compare lstopo with lscpu; TWINRUN_HWLOC=none leaves hwloc out");
}

}  // namespace

void take_from_hwloc(const Machine& said, Machine& machine, Diagnostics& diagnostics) {
  machine.readers.emplace_back("hwloc");
  if (const std::vector<std::string> about = differences(said, machine); !about.empty()) {
    warn(about, diagnostics);
  }
  std::vector<NumaNode> nodes = said.nodes;
  for (NumaNode& node : nodes) {
    const NumaNode* const before = find(machine.nodes, node.number);
    if (node.memory.count == 0 && before != nullptr) {
      node.memory = before->memory;
    }
  }
  machine.nodes = std::move(nodes);
  for (PciFunction& function : machine.pci) {
    const PciFunction* const other = said.find(function.bus_id);
    if (other != nullptr && other->numa_node >= 0) {
      function.numa_node = other->numa_node;
    }
  }
}

}  // namespace twinrun::exec
