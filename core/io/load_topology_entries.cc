#include "core/io/load_topology_entries.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/io/device_speed.h"
#include "core/io/json_object.h"
#include "core/io/load_topology.h"
#include "core/topology/fabric.h"

namespace twinrun {
namespace {

// Of one entry; the expansion has a tighter limit, and a better complaint.
constexpr std::int64_t kMostParts = 1'000'000'000;

// "gpu0" or ["gpu0", "gpu1"].
std::vector<std::string> read_patterns(JsonObject& object, std::string_view key) {
  const JsonValue value = object.find(key);
  std::vector<std::string> patterns;
  if (value && value.is_string()) {
    patterns.emplace_back(value.text());
  } else if (value && value.is_array() && value.size() > 0) {
    for (JsonValue item = value.first(); item; item = item.next()) {
      if (item.is_string()) {
        patterns.emplace_back(item.text());
      } else {
        object.wrong_type(item, "a name such as \"gpu0\"");
      }
    }
  } else if (value) {
    object.wrong_type(value, "a name or a list of names");
  }
  return patterns;
}

void require_positive(JsonObject& object,
                      std::string_view key,
                      std::optional<Bandwidth> bandwidth) {
  if (bandwidth && bandwidth->bytes_per_s <= 0) {
    object.diagnostics().error(
        "E0203", object.place_of(key), fmt::format("\"{}\" must be greater than 0", key),
        "a link that is down is written {\"link\": [a, b], \"failed\": true} in \"overrides\"");
  }
}

PathClass read_path_class(JsonObject& object, std::string_view key) {
  const auto word = object.one_of(key, kPathClassWords);
  return word ? static_cast<PathClass>(*word) : PathClass::kPxb;
}

// A word to which counts are added: "gpu" gives gpu0, gpu1, …
void require_plain_word(JsonObject& object, std::string_view key, const std::string& name) {
  const bool plain = !name.empty() && name.find_first_of("/*[], \t\n") == std::string::npos &&
                     (name.back() < '0' || name.back() > '9');
  if (!plain) {
    object.diagnostics().error("E0203", object.place_of(key),
                               fmt::format("the name {} must be a plain word", json_quoted(name)),
                               "numbers are added by the count: \"gpu\" gives gpu0, gpu1, …");
  }
}

}  // namespace

DeviceSpec read_device(JsonValue value, Diagnostics& diagnostics) {
  JsonObject object(value, "device", diagnostics);
  DeviceSpec device;
  device.name = value.key();
  device.place = value.place();
  object.require("kind");
  if (const auto kind = object.one_of("kind", kVertexKindWords)) {
    device.kind = static_cast<VertexKind>(*kind);
  }
  device.sm = static_cast<int>(object.integer("sm", 0, 10'000).value_or(0));
  device.vendor = object.string("vendor").value_or("");
  device.cpu_model = static_cast<int>(object.integer("model", 0, 100'000).value_or(0));
  device.cores = static_cast<int>(object.integer("cores", 0, 1'000'000).value_or(0));
  if (const JsonValue peaks = object.object("peak")) {
    JsonObject rates(peaks, "peak", diagnostics);
    for (std::size_t i = 0; i < kDtypeNames.size(); ++i) {
      device.peak[i] = rates.flop_rate(kDtypeNames[i]).value_or(FlopRate{});
    }
    rates.finish();
  }
  device.memory = object.bytes("memory").value_or(Bytes{});
  device.memory_bandwidth = object.bandwidth("memory_bandwidth").value_or(Bandwidth{});
  device.launch_overhead = object.time("launch_overhead").value_or(Time{});
  device.efficiency = read_efficiency(object);
  device.kernels = read_measured_kernels(object);
  device.products = read_products(object);
  device.streaming = read_streaming(object);
  device.rate = object.bandwidth("rate").value_or(Bandwidth{});
  device.latency = object.time("latency").value_or(Time{});
  device.in_order = object.boolean("in_order").value_or(true);
  device.is_tcp = object.boolean("tcp").value_or(false);
  device.price_per_hour = object.number("price_per_hour").value_or(0);
  device.watts = object.number("watts").value_or(0);
  device.spread_pct = object.number("spread_pct").value_or(0);
  device.source = object.string("source").value_or("");
  object.finish();
  return device;
}

namespace {

// A part is devices, or vertices that only forward, or a smaller template.
void require_one_way(JsonObject& object, const PartSpec& part) {
  const JsonValue value = object.value();
  const int ways = (value.find("device") ? 1 : 0) + (value.find("template") ? 1 : 0) +
                   (value.find("kind") ? 1 : 0);
  if (value.is_object() && ways == 0) {
    object.diagnostics().error(
        "E0201", value.place(), "a part needs a \"device\", a \"kind\" or a \"template\"",
        "for example {\"name\": \"gpu\", \"count\": 8, \"device\": \"a100-sxm4-40gb\"}");
  } else if (ways > 1) {
    object.diagnostics().error(
        "E0203", value.place(),
        fmt::format("the part {} has more than one of \"device\", \"kind\" and \"template\"",
                    json_quoted(part.name)),
        "a device knows its kind, and a template its parts: keep one of them");
  }
}

PartSpec read_part(JsonValue value, Diagnostics& diagnostics) {
  JsonObject object(value, "part", diagnostics);
  PartSpec part;
  part.place = value.place();
  part.name = object.string("name").value_or("");
  part.count = object.integer("count", 1, kMostParts).value_or(1);
  part.device = object.string("device").value_or("");
  part.template_name = object.string("template").value_or("");
  const auto kind = object.one_of("kind", kVertexKindWords);
  if (kind) {
    part.kind = static_cast<VertexKind>(*kind);
  }
  if (const JsonValue ids = object.array("ids")) {
    for (JsonValue id = ids.first(); id; id = id.next()) {
      if (id.is_string()) {
        part.ids.emplace_back(id.text());
      } else {
        object.wrong_type(id, "a bus id as a string");
      }
    }
  }
  object.finish();
  require_one_way(object, part);
  if (value.is_object() && !value.find("name") && !value.find("template")) {
    diagnostics.error("E0201", value.place(), "a part has no \"name\"", "add \"name\": \"gpu\"");
  } else if (value.is_object() && value.find("name")) {
    require_plain_word(object, "name", part.name);
  }
  return part;
}

}  // namespace

LinkSpec read_link(JsonValue value, LinkKind usual_kind, Diagnostics& diagnostics) {
  constexpr std::array<std::string_view, 2> kPairings = {"all", "each"};
  constexpr std::array<std::string_view, 3> kDuplexes = {"full", "half", "simplex"};
  JsonObject object(value, "link", diagnostics);
  LinkSpec link;
  link.place = value.place();
  object.require("from");
  object.require("to");
  object.require("bandwidth");
  link.from = read_patterns(object, "from");
  link.to = read_patterns(object, "to");
  const auto kind = object.one_of("kind", kLinkKindWords);
  link.kind = kind ? static_cast<LinkKind>(*kind) : usual_kind;
  const auto bandwidth = object.bandwidth("bandwidth");
  require_positive(object, "bandwidth", bandwidth);
  link.bandwidth = bandwidth.value_or(Bandwidth{});
  link.line_rate = object.bandwidth("line_rate").value_or(Bandwidth{});
  link.latency = object.time("latency").value_or(Time{});
  link.count = object.integer("count", 1, 10'000).value_or(1);
  link.pairing = static_cast<Pairing>(object.one_of("pairing", kPairings).value_or(0));
  link.duplex = static_cast<Duplex>(object.one_of("duplex", kDuplexes).value_or(0));
  link.spread_pct = object.number("spread_pct").value_or(0);
  link.source = object.string("source").value_or("");
  object.finish();
  return link;
}

TemplateSpec read_template(JsonValue value, Diagnostics& diagnostics) {
  JsonObject object(value, "template", diagnostics);
  TemplateSpec spec;
  spec.name = value.key();
  spec.place = value.place();
  object.require("parts");
  if (const JsonValue parts = object.array("parts")) {
    for (JsonValue part = parts.first(); part; part = part.next()) {
      spec.parts.push_back(read_part(part, diagnostics));
    }
  }
  if (const JsonValue links = object.array("links")) {
    for (JsonValue link = links.first(); link; link = link.next()) {
      spec.links.push_back(read_link(link, LinkKind::kPcie, diagnostics));
    }
  }
  spec.p2p = read_path_class(object, "p2p");
  spec.gpu_direct = read_path_class(object, "gpu_direct");
  spec.price_per_hour = object.number("price_per_hour").value_or(0);
  spec.watts = object.number("watts").value_or(0);
  spec.source = object.string("source").value_or("");
  object.finish();
  return spec;
}

namespace {

NodesSpec read_nodes_entry(JsonValue value, Diagnostics& diagnostics) {
  JsonObject object(value, "nodes entry", diagnostics);
  NodesSpec nodes;
  nodes.place = value.place();
  object.require("template");
  nodes.template_name = object.string("template").value_or("");
  nodes.count = object.integer("count", 1, kMostParts).value_or(1);
  nodes.name = object.string("name").value_or("node");
  nodes.role = object.string("role").value_or("");
  nodes.gpus = object.integer("gpus", 0, kMostParts);
  nodes.nics = object.integer("nics", 0, 10'000);
  nodes.nic_rate = object.bandwidth("nic");
  nodes.devices = object.integer("devices", 1, 1'000'000);
  require_positive(object, "nic", nodes.nic_rate);
  require_plain_word(object, "name", nodes.name);
  object.finish();
  return nodes;
}

}  // namespace

// {"dgx-a100": 128} or a list of entries.
std::vector<NodesSpec> read_nodes(JsonValue nodes, Diagnostics& diagnostics) {
  std::vector<NodesSpec> all;
  if (nodes.is_array()) {
    for (JsonValue entry = nodes.first(); entry; entry = entry.next()) {
      all.push_back(read_nodes_entry(entry, diagnostics));
    }
  } else if (nodes.is_object()) {
    JsonObject counts(nodes, "list of nodes", diagnostics);
    for (JsonValue entry = nodes.first(); entry; entry = entry.next()) {
      NodesSpec one;
      one.template_name = entry.key();
      one.place = entry.key_place();
      one.count = counts.integer(entry.key(), 1, kMostParts).value_or(1);
      all.push_back(std::move(one));
    }
  } else {
    JsonObject(nodes, "list of nodes", diagnostics).finish();  // complains
  }
  if ((nodes.is_array() || nodes.is_object()) && nodes.size() == 0) {
    diagnostics.error("E0203", nodes.place(), "\"nodes\" names no machine",
                      "for example {\"dgx-a100\": 2}");
  }
  return all;
}

PartSpec read_switch(JsonValue value, Diagnostics& diagnostics) {
  JsonObject object(value, "switch", diagnostics);
  PartSpec part;
  part.place = value.place();
  part.kind = VertexKind::kSwitch;
  const JsonValue name = object.require("name");
  part.name = object.string("name").value_or("switch");
  part.count = object.integer("count", 1, 1'000'000).value_or(1);
  if (name) {
    require_plain_word(object, "name", part.name);
  }
  object.finish();
  return part;
}

FabricSpec read_fabric(JsonValue value, Diagnostics& diagnostics) {
  JsonObject object(value, "fabric", diagnostics);
  FabricSpec fabric;
  fabric.place = value.place();
  std::vector<std::string_view> kinds;
  for (const FabricKind& kind : fabric_kinds()) {
    kinds.push_back(kind.name);
  }
  object.require("kind");
  if (const auto kind = object.one_of("kind", kinds)) {
    fabric.kind = kinds[*kind];
  }
  fabric.bandwidth = object.bandwidth("bandwidth");
  fabric.uplink_bandwidth = object.bandwidth("uplink_bandwidth");
  require_positive(object, "bandwidth", fabric.bandwidth);
  require_positive(object, "uplink_bandwidth", fabric.uplink_bandwidth);
  fabric.latency = object.time("latency").value_or(fabric.latency);
  fabric.oversubscription = object.number("oversubscription", 0.001).value_or(1);
  fabric.nodes_per_leaf = object.integer("nodes_per_leaf", 1, kMostParts);
  fabric.spines = object.integer("spines", 0, 100'000);
  fabric.ports = object.integer("ports", 2, 100'000);
  fabric.levels = object.integer("levels", 1, 3);
  if (const JsonValue dims = object.array("dims")) {
    for (JsonValue extent = dims.first(); extent; extent = extent.next()) {
      if (extent.is_integer() && extent.integer() > 0) {
        fabric.dims.push_back(extent.integer());
      } else {
        object.wrong_type(extent, "a whole number of at least 1");
      }
    }
  }
  fabric.routing =
      static_cast<RoutingRule>(object.one_of("routing", kRoutingRuleWords).value_or(0));
  fabric.source = object.string("source").value_or("");
  object.finish();
  check_fabric_keys(fabric, diagnostics);
  return fabric;
}

namespace {

void read_vertex_change(JsonObject& object, OverrideSpec& change) {
  change.vertices = read_patterns(object, "vertices");
  change.device = object.string("device").value_or("");
  change.compute_scale = object.number("compute_scale", 1e-9).value_or(1);
  change.memory_bandwidth_scale = object.number("memory_bandwidth_scale", 1e-9).value_or(1);
}

std::vector<std::string> read_ends(JsonObject& object, std::string_view key) {
  std::vector<std::string> ends = read_patterns(object, key);
  if (!ends.empty() && ends.size() != 2) {
    object.diagnostics().error("E0203", object.place_of(key),
                               fmt::format("\"{}\" must name two ends", key),
                               fmt::format("for example \"{}\": [\"gpu0\", \"gpu1\"]", key));
    ends.clear();
  }
  return ends;
}

void read_link_change(JsonObject& object, OverrideSpec& change) {
  change.link_ends = read_ends(object, "link");
  change.bandwidth_scale = object.number("bandwidth_scale", 1e-9).value_or(1);
  change.bandwidth = object.bandwidth("bandwidth");
  require_positive(object, "bandwidth", change.bandwidth);
  change.latency = object.time("latency");
  change.failed = object.boolean("failed").value_or(false);
}

}  // namespace

// The first target decides which keys count; others would have no effect, so they are unknown.
OverrideSpec read_override(JsonValue value, Diagnostics& diagnostics) {
  OverrideSpec change;
  change.place = value.place();
  if (value.find("vertices")) {
    JsonObject object(value, "override of vertices", diagnostics);
    read_vertex_change(object, change);
    object.finish();
  } else if (value.find("link")) {
    JsonObject object(value, "override of links", diagnostics);
    read_link_change(object, change);
    object.finish();
  } else if (value.find("p2p")) {
    JsonObject object(value, "override of peer access", diagnostics);
    change.p2p_pair = read_ends(object, "p2p");
    object.require("allowed");
    change.p2p_allowed = object.boolean("allowed").value_or(true);
    object.finish();
  } else if (value.is_object()) {
    diagnostics.error("E0201", value.place(), "an override does not say what it changes",
                      "add \"vertices\", \"link\" or \"p2p\"");
  } else {
    JsonObject(value, "override", diagnostics).finish();  // complains
  }
  return change;
}

CoresSpec read_cores(JsonValue value, Diagnostics& diagnostics) {
  JsonObject object(value, "entry of cores", diagnostics);
  CoresSpec cores;
  cores.place = value.place();
  for (const char* const key : {"vertices", "count", "moves"}) {
    object.require(key);
  }
  cores.vertices = read_patterns(object, "vertices");
  cores.count = object.number("count", 1e-3).value_or(1);
  cores.sharing = static_cast<CoreSharing>(object.one_of("sharing", kCoreSharingWords).value_or(0));
  const auto moves = object.bandwidth("moves");
  require_positive(object, "moves", moves);
  cores.moves = moves.value_or(Bandwidth{1});
  cores.moved_by = static_cast<MovedBy>(object.one_of("moved_by", kMovedByWords).value_or(0));
  cores.wake = object.time("wake").value_or(Time{});
  cores.footprint = read_footprint(object);
  cores.spread_pct = object.number("spread_pct").value_or(0);
  cores.source = object.string("source").value_or("");
  object.finish();
  return cores;
}

}  // namespace twinrun
