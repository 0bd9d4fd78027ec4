#include "cli/topology_matrix.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace twinrun::cli {
namespace {

constexpr std::size_t kMostNicColumns = 16;  // a p5 has 32 NICs: then only the nearest are named

std::string cell(const Topology& topology, Router& router, VertexId a, VertexId b) {
  if (a == b) {
    return "X";
  }
  const std::optional<Route> way = router.wires(a, b);
  if (!way) {
    return "-";
  }
  if (way->path != PathClass::kNvl) {
    return std::string(word(way->path));
  }
  std::uint16_t bonded = 0xFFFF;
  for (const LinkId link : way->links) {
    bonded = std::min(bonded, topology.bonded(link));
  }
  return fmt::format("NV{}", bonded);
}

std::string nearest_cpu(const Topology& topology,
                        Router& router,
                        VertexId device,
                        const std::vector<VertexId>& cpus) {
  std::string best = "-";
  std::size_t fewest = 0;
  for (const VertexId cpu : cpus) {
    const std::optional<Route> way = router.wires(device, cpu);
    if (way && (best == "-" || way->links.size() < fewest)) {
      fewest = way->links.size();
      best = topology.name(cpu);
    }
  }
  return best;
}

std::vector<VertexId> in_machine(const Topology& topology, NodeId node, VertexKind kind) {
  std::vector<VertexId> found;
  for (const std::uint32_t local : topology.shape(node).of_kind(kind)) {
    found.push_back(topology.vertex_in(node, local));
  }
  return found;
}

std::string local_name(const Topology& topology, NodeId node, VertexId vertex) {
  const std::uint32_t local = static_cast<std::uint32_t>(vertex) - topology.node(node).first_vertex;
  return topology.shape(node).name_of(local);
}

}  // namespace

Table distance_matrix(const Topology& topology, Router& router, NodeId node) {
  std::vector<VertexId> rows = in_machine(topology, node, VertexKind::kGpu);
  const std::vector<VertexId> cpus = in_machine(topology, node, VertexKind::kCpu);
  const bool has_gpus = !rows.empty();
  if (!has_gpus) {
    rows = cpus;
  }
  std::vector<VertexId> columns = rows;
  const std::vector<VertexId> nics = in_machine(topology, node, VertexKind::kNic);
  if (nics.size() <= kMostNicColumns) {
    columns.insert(columns.end(), nics.begin(), nics.end());
  }
  Table table;
  table.columns.push_back({"device", " "});
  for (const VertexId column : columns) {
    table.columns.push_back({local_name(topology, node, column)});
  }
  if (has_gpus) {
    table.columns.push_back({"cpu_affinity", "CPU"});
  }
  for (const VertexId row : rows) {
    std::vector<Cell> cells{local_name(topology, node, row)};
    for (const VertexId column : columns) {
      cells.emplace_back(cell(topology, router, row, column));
    }
    if (has_gpus) {
      const std::string cpu = nearest_cpu(topology, router, row, cpus);
      cells.emplace_back(cpu.substr(cpu.find('/') + 1));
    }
    table.rows.push_back(std::move(cells));
  }
  if (nics.size() > kMostNicColumns) {
    table.note = fmt::format("{} NICs are left out here; --format json has the links", nics.size());
  }
  return table;
}

}  // namespace twinrun::cli
