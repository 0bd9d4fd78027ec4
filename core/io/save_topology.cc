#include "core/io/save_topology.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace twinrun {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLineLength = 160;
constexpr std::array<std::string_view, 2> kPairingWords = {"all", "each"};
constexpr std::array<std::string_view, 3> kDuplexWords = {"full", "half", "simplex"};

std::string dumped(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string one_line(const Json& value) {
  if (!value.is_structured() || value.empty()) {
    return dumped(value);
  }
  std::string out;
  for (const auto& [key, member] : value.items()) {
    out += out.empty() ? "" : ", ";
    out += value.is_object() ? dumped(Json(key)) + ": " + one_line(member) : one_line(member);
  }
  return value.is_object() ? "{ " + out + " }" : "[" + out + "]";
}

// Depth is small: the format has at most six levels.
void pretty(
    std::string& out, const Json& value, std::size_t indent, std::size_t used, bool expand) {
  const std::string flat = one_line(value);
  if (!value.is_structured() || value.empty() || (!expand && used + flat.size() <= kLineLength)) {
    out += flat;
    return;
  }
  out += value.is_object() ? "{\n" : "[\n";
  std::size_t left = value.size();
  for (const auto& [key, member] : value.items()) {
    std::string start(indent + 2, ' ');
    start += value.is_object() ? dumped(Json(key)) + ": " : "";
    out += start;
    const bool is_section =
        key == "templates" || key == "devices" || key == "parts" || key == "links";
    pretty(out, member, indent + 2, start.size() + 1,
           value.is_object() && is_section && !member.empty());
    out += --left > 0 ? ",\n" : "\n";
  }
  out += std::string(indent, ' ') + (value.is_object() ? "}" : "]");
}

template <class Quantity>
void put(Json& json, const char* key, const Quantity& value) {
  if (value != Quantity{}) {
    json[key] = exact_text(value);
  }
}
void put(Json& json, const char* key, const std::string& text) {
  if (!text.empty()) {
    json[key] = text;
  }
}
void put_number(Json& json, const char* key, double value, double standard = 0) {
  if (value != standard) {
    // 6500 rather than 6500.0
    const auto whole = static_cast<std::int64_t>(std::clamp(value, -1e15, 1e15));
    json[key] = static_cast<double>(whole) == value ? Json(whole) : Json(value);
  }
}
template <class Value>
void put_optional(Json& json, const char* key, const std::optional<Value>& value) {
  if (value) {
    json[key] = *value;
  }
}
void put_optional(Json& json, const char* key, const std::optional<Bandwidth>& value) {
  if (value) {
    json[key] = exact_text(*value);
  }
}
void put_patterns(Json& json, const char* key, const std::vector<std::string>& patterns) {
  json[key] = patterns.size() == 1 ? Json(patterns.front()) : Json(patterns);
}

Json saved(const EfficiencyPoint& point) {
  Json json = Json::object();
  put(json, "kind", point.kind);
  if (point.dtype) {
    json["dtype"] = name_of(*point.dtype);
  }
  put_number(json, "flops", point.flops);
  put_number(json, "fraction", point.fraction);
  return json;
}

Json saved(const MeasuredKernel& kernel) {
  Json json{{"m", kernel.m}, {"n", kernel.n}, {"k", kernel.k}};
  if (kernel.dtype != Dtype::kFp32) {
    json["dtype"] = name_of(kernel.dtype);
  }
  put(json, "time", kernel.time);
  return json;
}

// Times as a person would write them, still exact: 12.25, 3.
Json numbers(const std::vector<double>& values) {
  Json json = Json::array();
  for (const double value : values) {
    const auto whole = static_cast<std::int64_t>(std::clamp(value, -1e15, 1e15));
    json.push_back(static_cast<double>(whole) == value ? Json(whole) : Json(value));
  }
  return json;
}

Json saved(const ProductGrid& grid) {
  Json json = Json::object();
  put(json, "pass", grid.pass);
  if (grid.dtype != Dtype::kFp32) {
    json["dtype"] = name_of(grid.dtype);
  }
  json["m"] = grid.m;
  json["n"] = grid.n;
  json["k"] = grid.k;
  put_number(json, "spread_pct", grid.spread_pct);
  json["us"] = numbers(grid.us);
  return json;
}

Json saved(const StreamingPoint& point) {
  Json json = Json::object();
  put(json, "kind", point.kind);
  json["bytes"] = exact_text(Bytes{static_cast<std::int64_t>(point.bytes)});
  put(json, "rate", point.rate);
  return json;
}

Json saved(const FootprintPoint& point) {
  Json json = Json::object();
  json["bytes"] = exact_text(point.bytes);
  put_number(json, "product_ps_per_byte", point.product_ps_per_byte);
  put_number(json, "pass_ps_per_byte", point.pass_ps_per_byte);
  return json;
}

template <class Entry>
Json saved_all(const std::vector<Entry>& entries);

void put_speed(Json& json, const DeviceSpec& device) {
  const auto& points = device.efficiency;
  if (points.size() == 1 && points.front().flops == 0) {
    put_number(json, "efficiency", points.front().fraction);
  } else if (!points.empty()) {
    json["efficiency"] = saved_all(points);
  }
  if (!device.kernels.empty()) {
    json["kernels"] = saved_all(device.kernels);
  }
  if (!device.products.empty()) {
    json["products"] = saved_all(device.products);
  }
  if (!device.streaming.empty()) {
    json["streaming"] = saved_all(device.streaming);
  }
}

Json saved(const DeviceSpec& device) {
  Json json;
  json["kind"] = word(device.kind);
  put_number(json, "sm", device.sm);
  put(json, "vendor", device.vendor);
  put_number(json, "model", device.cpu_model);
  put_number(json, "cores", device.cores);
  Json peak = Json::object();
  for (std::size_t i = 0; i < device.peak.size(); ++i) {
    put(peak, std::string(kDtypeNames[i]).c_str(), device.peak[i]);
  }
  if (!peak.empty()) {
    json["peak"] = std::move(peak);
  }
  put(json, "memory", device.memory);
  put(json, "memory_bandwidth", device.memory_bandwidth);
  put(json, "launch_overhead", device.launch_overhead);
  put_speed(json, device);
  if (device.rate != Bandwidth{}) {
    json["rate"] = bits_text(device.rate);
  }
  put(json, "latency", device.latency);
  if (device.is_tcp) {
    json["tcp"] = true;
  }
  if (!device.in_order) {
    json["in_order"] = false;
  }
  put_number(json, "price_per_hour", device.price_per_hour);
  put_number(json, "watts", device.watts);
  put_number(json, "spread_pct", device.spread_pct);
  put(json, "source", device.source);
  return json;
}

Json saved(const PartSpec& part) {
  Json json = Json::object();
  put(json, "name", part.name);
  put(json, "template", part.template_name);
  json["count"] = part.count;
  if (!part.device.empty()) {
    json["device"] = part.device;
  } else if (part.template_name.empty()) {
    json["kind"] = word(part.kind);
  }
  if (!part.ids.empty()) {
    json["ids"] = part.ids;
  }
  return json;
}

Json saved(const LinkSpec& link) {
  Json json;
  put_patterns(json, "from", link.from);
  put_patterns(json, "to", link.to);
  if (link.pairing != Pairing::kAll) {
    json["pairing"] = kPairingWords[static_cast<std::size_t>(link.pairing)];
  }
  json["kind"] = word(link.kind);
  put_number(json, "count", static_cast<double>(link.count), 1);
  if (link.duplex != Duplex::kFull) {
    json["duplex"] = kDuplexWords[static_cast<std::size_t>(link.duplex)];
  }
  json["bandwidth"] = exact_text(link.bandwidth);
  put(json, "line_rate", link.line_rate);
  put(json, "latency", link.latency);
  put_number(json, "spread_pct", link.spread_pct);
  put(json, "source", link.source);
  return json;
}

Json saved(const NodesSpec& nodes);
Json saved(const OverrideSpec& change);
Json saved(const CoresSpec& cores);

template <class Entry>
Json saved_all(const std::vector<Entry>& entries) {
  Json json = Json::array();
  for (const Entry& entry : entries) {
    json.push_back(saved(entry));
  }
  return json;
}

Json saved(const TemplateSpec& one) {
  Json json;
  json["parts"] = saved_all(one.parts);
  json["links"] = saved_all(one.links);
  json["p2p"] = word(one.p2p);
  json["gpu_direct"] = word(one.gpu_direct);
  put_number(json, "price_per_hour", one.price_per_hour);
  put_number(json, "watts", one.watts);
  put(json, "source", one.source);
  return json;
}

Json saved(const NodesSpec& nodes) {
  Json json;
  json["template"] = nodes.template_name;
  json["count"] = nodes.count;
  if (nodes.name != "node") {
    json["name"] = nodes.name;
  }
  put(json, "role", nodes.role);
  put_optional(json, "gpus", nodes.gpus);
  put_optional(json, "nics", nodes.nics);
  if (nodes.nic_rate) {
    json["nic"] = bits_text(*nodes.nic_rate);
  }
  put_optional(json, "devices", nodes.devices);
  return json;
}

// {"dgx-a100": 4} where that says it all.
Json saved_nodes(const std::vector<NodesSpec>& nodes) {
  Json by_name = Json::object();
  for (const NodesSpec& one : nodes) {
    if (saved(one).size() != 2 || by_name.contains(one.template_name)) {
      return saved_all(nodes);
    }
    by_name[one.template_name] = one.count;
  }
  return by_name;
}

Json saved(const FabricSpec& fabric) {
  Json json;
  json["kind"] = fabric.kind;
  put_optional(json, "bandwidth", fabric.bandwidth);
  put_optional(json, "uplink_bandwidth", fabric.uplink_bandwidth);
  json["latency"] = exact_text(fabric.latency);
  put_number(json, "oversubscription", fabric.oversubscription, 1);
  put_optional(json, "nodes_per_leaf", fabric.nodes_per_leaf);
  put_optional(json, "spines", fabric.spines);
  put_optional(json, "ports", fabric.ports);
  put_optional(json, "levels", fabric.levels);
  if (!fabric.dims.empty()) {
    json["dims"] = fabric.dims;
  }
  if (fabric.routing != RoutingRule::kEcmp) {
    json["routing"] = kRoutingRuleWords[static_cast<std::size_t>(fabric.routing)];
  }
  put(json, "source", fabric.source);
  return json;
}

Json saved(const OverrideSpec& change) {
  Json json;
  if (!change.vertices.empty()) {
    put_patterns(json, "vertices", change.vertices);
    put(json, "device", change.device);
    put_number(json, "compute_scale", change.compute_scale, 1);
    put_number(json, "memory_bandwidth_scale", change.memory_bandwidth_scale, 1);
  } else if (!change.link_ends.empty()) {
    json["link"] = change.link_ends;
    put_number(json, "bandwidth_scale", change.bandwidth_scale, 1);
    put_optional(json, "bandwidth", change.bandwidth);
    if (change.latency) {
      json["latency"] = exact_text(*change.latency);
    }
    if (change.failed) {
      json["failed"] = true;
    }
  } else {
    json["p2p"] = change.p2p_pair;
    json["allowed"] = change.p2p_allowed;
  }
  return json;
}

Json saved(const CoresSpec& cores) {
  Json json;
  put_patterns(json, "vertices", cores.vertices);
  put_number(json, "count", cores.count);
  if (cores.sharing != CoreSharing::kMachine) {
    json["sharing"] = kCoreSharingWords[static_cast<std::size_t>(cores.sharing)];
  }
  put(json, "moves", cores.moves);
  if (cores.moved_by != MovedBy::kReceiver) {
    json["moved_by"] = kMovedByWords[static_cast<std::size_t>(cores.moved_by)];
  }
  put(json, "wake", cores.wake);
  if (!cores.footprint.empty()) {
    json["footprint"] = saved_all(cores.footprint);
  }
  put_number(json, "spread_pct", cores.spread_pct);
  put(json, "source", cores.source);
  return json;
}

template <class Entry>
void put_named(Json& json, const char* key, const std::vector<Entry>& entries) {
  for (const Entry& entry : entries) {
    json[key][entry.name] = saved(entry);
  }
}

Json saved_switches(const std::vector<PartSpec>& switches) {
  Json json = Json::array();
  for (const PartSpec& one : switches) {
    json.push_back({{"name", one.name}, {"count", one.count}});
  }
  return json;
}

}  // namespace

std::string save_topology(const TopologySpec& spec) {
  Json json;
  json["schema"] = "twinrun/topology/1";
  put(json, "name", spec.name);
  put(json, "description", spec.description);
  put(json, "source", spec.source);
  put_named(json, "devices", spec.devices);
  put_named(json, "templates", spec.templates);
  json["nodes"] = saved_nodes(spec.nodes);
  if (spec.fabric) {
    json["fabric"] = saved(*spec.fabric);
  }
  if (!spec.switches.empty()) {
    json["switches"] = saved_switches(spec.switches);
  }
  if (!spec.links.empty()) {
    json["links"] = saved_all(spec.links);
  }
  if (!spec.overrides.empty()) {
    json["overrides"] = saved_all(spec.overrides);
  }
  if (!spec.cores.empty()) {
    json["cores"] = saved_all(spec.cores);
  }
  std::string out;
  pretty(out, json, 0, 0, true);
  return out + "\n";
}

}  // namespace twinrun
