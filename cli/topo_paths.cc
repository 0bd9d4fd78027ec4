#include <cstdint>
#include <memory>
#include <string>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/topo.h"
#include "cli/topology_input.h"
#include "core/topology/router.h"

namespace twinrun::cli {
namespace {

struct PathsOptions {
  std::string topology;
  std::string from;
  std::string to;
  std::uint64_t flow = 0;
};

Table hop_table(const Topology& topology, const Route& route) {
  Table table;
  table.columns = {{"hop", "", Align::kRight},
                   {"from"},
                   {"to"},
                   {"kind"},
                   {"bandwidth_GBps", "GB/s", Align::kRight},
                   {"latency_s", "latency", Align::kRight},
                   {"bottleneck", " "}};
  int hop = 0;
  for (const LinkId link : route.links) {
    const bool slowest = topology.capacity_owner(link) == topology.capacity_owner(route.bottleneck);
    const double rate = to_gigabytes_per_second(topology.bandwidth(link));
    table.rows.push_back({++hop, topology.name(topology.from(link)),
                          topology.name(topology.to(link)), word(topology.link_kind(link)),
                          Cell(rate, fmt::format("{:.5g}", rate)),
                          Cell(to_seconds(topology.latency(link)), to_text(topology.latency(link))),
                          Cell(slowest, slowest ? "<- bottleneck" : " ", Tone::kWarning)});
  }
  return table;
}

// Why the bytes go where they go, in one clause.
std::string reason(
    const Topology& topology, Router& router, VertexId from, VertexId to, const Route& route) {
  const NodeId node = topology.node_of(from);
  if (!route.through_host) {
    return route.path == PathClass::kNet ? "over the network" : "direct";
  }
  if (node == no_id<NodeId>() || node != topology.node_of(to)) {
    return "over the network, staged in host memory: GPU and NIC are too far apart for GPUDirect";
  }
  const NodeShape& shape = topology.shape(node);
  const std::optional<Route> wires = router.wires(from, to);
  const bool to_nic =
      topology.kind(to) == VertexKind::kNic || topology.kind(from) == VertexKind::kNic;
  const PathClass limit = to_nic ? shape.gpu_direct : shape.p2p;
  const std::string_view rule = to_nic ? "GPUDirect" : "P2P";
  if (!wires || wires->path <= limit) {
    return fmt::format("through host memory: {} is off between these two", rule);
  }
  return limit == PathClass::kLoc
             ? fmt::format("through host memory: {} is off on this machine", rule)
             : fmt::format("through host memory: {} reaches {}, these are {}", rule, word(limit),
                           word(wires->path));
}

Output show_path(Context& context, const PathsOptions& options) {
  const Topology topology = load_topology(context, options.topology);
  const VertexId from = vertex_named(topology, options.from);
  const VertexId to = vertex_named(topology, options.to);
  Router router(topology);
  const std::optional<Route> route = router.route(from, to, options.flow);
  if (!route) {
    throw CannotRun(fmt::format("there is no way from {} to {} in {}", options.from, options.to,
                                topology.name()));
  }
  const std::string why = reason(topology, router, from, to, *route);
  Output output;
  output.rows_key = "hops";
  auto& json = output.json;
  json["topology"] = topology.name();
  json["from"] = topology.name(from);
  json["to"] = topology.name(to);
  json["class"] = word(route->path);
  json["through_host"] = route->through_host;
  json["why"] = why;
  json["latency_s"] = to_seconds(route->latency);
  if (route->links.empty()) {
    json["bandwidth_GBps"] = nullptr;
    json["bottleneck"] = nullptr;
    output.text = fmt::format("{} is one and the same vertex (LOC)\n", topology.name(from));
  } else {
    json["bandwidth_GBps"] = to_gigabytes_per_second(route->bandwidth);
    json["bottleneck"] = topology.link_name(route->bottleneck);
    output.text = fmt::format("{} -> {}  {}  {}  latency {}  {} hops\n{}\n", topology.name(from),
                              topology.name(to), word(route->path), to_text(route->bandwidth),
                              to_text(route->latency), route->links.size(), why);
  }
  output.tables.push_back(hop_table(topology, *route));
  json["hops"] = to_json(output.tables.front());
  return output;
}

}  // namespace

Run add_topo_paths(CLI::App& app) {
  const auto options = std::make_shared<PathsOptions>();
  app.add_option("topology", options->topology, "a name, a file, - or an expression")
      ->required()
      ->type_name("TOPOLOGY");
  app.add_option("from", options->from, "where from, such as gpu0 or node0/gpu0")
      ->required()
      ->type_name("VERTEX");
  app.add_option("to", options->to, "where to")->required()->type_name("VERTEX");
  app.add_option("--flow", options->flow, "which flow: flows may take different equally short ways")
      ->type_name("N");
  return [options](Context& context) { return show_path(context, *options); };
}

}  // namespace twinrun::cli
