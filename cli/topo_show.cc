#include <map>
#include <memory>
#include <string>
#include <vector>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/topo.h"
#include "cli/topology_input.h"
#include "cli/topology_matrix.h"
#include "cli/topology_tree.h"
#include "core/topology/bisection.h"
#include "core/topology/router.h"

namespace twinrun::cli {
namespace {

struct ShowOptions {
  std::string topology;
  bool tree = false;
  bool matrix = false;
};

// What the whole cluster adds up to.
struct Totals {
  std::map<std::string, std::int64_t> devices;  // GPUs, or CPUs, by name
  std::size_t nics = 0;
  std::size_t switches = 0;
  Bytes memory{};
  FlopRate fp32{};
  FlopRate fp16{};
  double price_per_hour = 0;
  double watts = 0;
};

// A template's price and power are the whole machine's; without them its devices are added up.
void add_cost(const Topology& topology, NodeId node, Totals& totals) {
  const NodeShape& shape = topology.shape(node);
  double price_per_hour = shape.price_per_hour;
  double watts = shape.watts;
  for (std::uint32_t v = 0; v < shape.vertices.size(); ++v) {
    if (const DeviceSpec* device = topology.device(topology.vertex_in(node, v))) {
      price_per_hour += shape.price_per_hour > 0 ? 0 : device->price_per_hour;
      watts += shape.watts > 0 ? 0 : device->watts;
    }
  }
  totals.price_per_hour += price_per_hour;
  totals.watts += watts;
}

Totals add_up(const Topology& topology) {
  Totals totals;
  for (const VertexId v : topology.compute_devices()) {
    const DeviceSpec* device = topology.device(v);
    if (device == nullptr) {
      continue;
    }
    ++totals.devices[device->name];
    totals.memory.count += device->memory.count;
    totals.fp32.flop_per_s +=
        device->peak[static_cast<std::size_t>(Dtype::kFp32)].flop_per_s * topology.compute_scale(v);
    totals.fp16.flop_per_s +=
        device->peak[static_cast<std::size_t>(Dtype::kFp16)].flop_per_s * topology.compute_scale(v);
  }
  for (std::size_t v = 0; v < topology.vertex_count(); ++v) {
    const VertexKind kind = topology.kind(id_at<VertexId>(v));
    totals.nics += kind == VertexKind::kNic ? 1U : 0U;
    totals.switches += kind == VertexKind::kSwitch ? 1U : 0U;
  }
  for (std::size_t n = 0; n < topology.node_count(); ++n) {
    add_cost(topology, id_at<NodeId>(n), totals);
  }
  return totals;
}

std::string device_words(const Totals& totals) {
  std::string words;
  for (const auto& [name, count] : totals.devices) {
    words += fmt::format("{}{} × {}", words.empty() ? "" : ", ", count, name);
  }
  return words;
}

Table fact_table(const Topology& topology, const Totals& totals, Bandwidth bisection) {
  Table facts;
  facts.has_header = false;
  facts.columns = {{"fact"}, {"value"}};
  const auto add = [&](const char* fact, std::string value) {
    facts.rows.push_back({fact, std::move(value)});
  };
  add("devices", device_words(totals));
  add("nodes", fmt::format("{}", topology.node_count()));
  add("graph",
      fmt::format("{} vertices · {} links · {} NICs · {} switches", topology.vertex_count(),
                  topology.link_count(), totals.nics, totals.switches));
  if (topology.node_count() > 1) {
    add("fabric", topology.fabric_kind().empty() ? "explicit links" : topology.fabric_kind());
  }
  if (totals.memory.count > 0) {
    add("memory", to_text(totals.memory));
  }
  if (totals.fp32.flop_per_s > 0) {
    add("peak", totals.fp16.flop_per_s > 0
                    ? fmt::format("{} fp32 · {} fp16", to_text(totals.fp32), to_text(totals.fp16))
                    : fmt::format("{} fp32", to_text(totals.fp32)));
  }
  if (bisection.bytes_per_s > 0) {
    add("bisection",
        fmt::format("{} (min cut between the first and the second half of the devices)",
                    to_text(bisection)));
  }
  if (totals.price_per_hour > 0) {
    add("price", fmt::format("{:.2f} per hour", totals.price_per_hour));
  }
  return facts;
}

// One machine of each shape stands for all of them.
std::map<std::uint32_t, std::vector<NodeId>> machines_by_shape(const Topology& topology) {
  std::map<std::uint32_t, std::vector<NodeId>> machines;
  for (std::size_t n = 0; n < topology.node_count(); ++n) {
    machines[topology.node(id_at<NodeId>(n)).shape].push_back(id_at<NodeId>(n));
  }
  return machines;
}

nlohmann::ordered_json machine_json(const Topology& topology,
                                    NodeId node,
                                    std::size_t count,
                                    const Table& matrix) {
  const NodeShape& shape = topology.shape(node);
  nlohmann::ordered_json json;
  json["template"] = shape.template_name;
  json["count"] = count;
  json["first"] = topology.node_name(node);
  json["vertices"] = nlohmann::ordered_json::array();
  for (std::uint32_t v = 0; v < shape.vertices.size(); ++v) {
    const DeviceSpec* device = topology.device(topology.vertex_in(node, v));
    nlohmann::ordered_json vertex{{"name", shape.name_of(v)},
                                  {"kind", word(shape.vertices[v].kind)}};
    vertex["device"] =
        device == nullptr ? nlohmann::ordered_json() : nlohmann::ordered_json(device->name);
    json["vertices"].push_back(std::move(vertex));
  }
  json["links"] = nlohmann::ordered_json::array();
  for (const NodeShape::Link& link : shape.links) {
    json["links"].push_back({{"from", shape.name_of(link.from)},
                             {"to", shape.name_of(link.to)},
                             {"kind", word(link.kind)},
                             {"bandwidth_GBps", to_gigabytes_per_second(link.bandwidth)},
                             {"latency_s", to_seconds(link.latency)},
                             {"count", link.count},
                             {"failed", link.failed}});
  }
  json["matrix"] = to_json(matrix);
  return json;
}

nlohmann::ordered_json totals_json(const Topology& topology,
                                   const Totals& totals,
                                   Bandwidth bisection) {
  nlohmann::ordered_json json;
  json["name"] = topology.name();
  json["description"] = topology.description();
  json["nodes"] = topology.node_count();
  json["devices"] = totals.devices;
  json["vertices"] = topology.vertex_count();
  json["links"] = topology.link_count();
  json["nics"] = totals.nics;
  json["switches"] = totals.switches;
  json["fabric"] = topology.fabric_kind();
  json["memory_bytes"] = totals.memory.count;
  json["peak_fp32_TFLOPs"] = totals.fp32.flop_per_s / 1e12;
  json["peak_fp16_TFLOPs"] = totals.fp16.flop_per_s / 1e12;
  json["bisection_GBps"] = to_gigabytes_per_second(bisection);
  json["price_per_hour"] = totals.price_per_hour;
  json["watts"] = totals.watts;
  return json;
}

Output show(const Topology& topology, const ShowOptions& options) {
  const Totals totals = add_up(topology);
  const Bandwidth bisection = bisection_bandwidth(topology);
  Router router(topology);
  Output output;
  output.rows_key = "machines";
  output.json = totals_json(topology, totals, bisection);
  output.json["machines"] = nlohmann::ordered_json::array();
  output.text = fmt::format("{}{}{}\n", topology.name(), topology.description().empty() ? "" : ": ",
                            topology.description());
  const bool everything = !options.tree && !options.matrix;
  if (everything) {
    output.tables.push_back(fact_table(topology, totals, bisection));
  }
  for (const auto& [shape, machines] : machines_by_shape(topology)) {
    const NodeId first = machines.front();
    Table matrix = distance_matrix(topology, router, first);
    output.json["machines"].push_back(machine_json(topology, first, machines.size(), matrix));
    const std::string which =
        machines.size() == 1
            ? topology.node_name(first)
            : fmt::format("{} machines like {}", machines.size(), topology.node_name(first));
    const std::string role =
        topology.role(first).empty() ? "" : fmt::format(", {}", topology.role(first));
    if (everything || options.tree) {
      Table tree;
      tree.title = fmt::format("{} ({}{})", which, topology.shape(first).template_name, role);
      tree.note = draw_tree(topology, first);
      tree.has_header = false;
      output.tables.push_back(std::move(tree));
    }
    if ((everything || options.matrix) && matrix.rows.size() > 1) {
      output.tables.push_back(std::move(matrix));
    }
  }
  return output;
}

}  // namespace

Output show_topology(const Topology& topology) { return show(topology, {}); }

Run add_topo_show(CLI::App& app) {
  const auto options = std::make_shared<ShowOptions>();
  app.add_option("topology", options->topology, "a name, a file, - or an expression")
      ->required()
      ->type_name("TOPOLOGY");
  app.add_flag("--tree", options->tree, "only the tree of each machine");
  app.add_flag("--matrix", options->matrix, "only the matrix of each machine");
  return [options](Context& context) {
    return show(load_topology(context, options->topology), *options);
  };
}

}  // namespace twinrun::cli
