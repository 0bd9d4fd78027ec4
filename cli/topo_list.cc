#include <map>
#include <string>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/topo.h"
#include "cli/topology_input.h"
#include "core/io/catalogue.h"
#include "core/topology/fabric.h"

namespace twinrun::cli {
namespace {

// "8 × a100-sxm4-40gb"; CPUs where there is no GPU.
std::string devices_in_words(const Topology& topology) {
  std::map<std::string, int> count;
  for (const VertexId device : topology.compute_devices()) {
    ++count[topology.device(device) != nullptr ? topology.device(device)->name : "?"];
  }
  std::string words;
  for (const auto& [name, number] : count) {
    words += fmt::format("{}{} × {}", words.empty() ? "" : ", ", number, name);
  }
  return words;
}

Output list(Context& context) {
  Output output;
  output.rows_key = "topologies";
  Table table;
  table.columns = {{"name"}, {"nodes", "", Align::kRight}, {"devices"}, {"description"}};
  for (const std::string& name : catalogue_topology_names()) {
    const Topology topology = load_topology(context, name);
    table.rows.push_back(
        {name, topology.node_count(), devices_in_words(topology), topology.description()});
  }
  table.note =
      "every machine takes nodes, gpus, fabric, nics, nic, oversubscription: "
      "dgx-a100:nodes=16,nic=100Gb/s";
  Table fabrics;
  fabrics.title =
      "networks of plain hosts, such as single-switch:hosts=1024,bandwidth=12.5GB/s,latency=1us";
  fabrics.columns = {{"fabric"}, {"description"}};
  for (const FabricKind& kind : fabric_kinds()) {
    fabrics.rows.push_back({kind.name, kind.description});
  }
  output.json["topologies"] = to_json(table);
  output.json["fabrics"] = to_json(fabrics);
  output.tables = {std::move(table), std::move(fabrics)};
  return output;
}

}  // namespace

Run add_topo_list(CLI::App& /*app*/) { return list; }

}  // namespace twinrun::cli
