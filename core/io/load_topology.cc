#include "core/io/load_topology.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/base/did_you_mean.h"
#include "core/io/catalogue.h"
#include "core/io/json_object.h"
#include "core/topology/fabric.h"

namespace twinrun {
namespace {

constexpr std::int64_t kMostParts =
    1'000'000'000;  // of one entry; the expansion has a tighter limit

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
  device.rate = object.bandwidth("rate").value_or(Bandwidth{});
  device.latency = object.time("latency").value_or(Time{});
  device.price_per_hour = object.number("price_per_hour").value_or(0);
  device.watts = object.number("watts").value_or(0);
  device.source = object.string("source").value_or("");
  object.finish();
  return device;
}

PartSpec read_part(JsonValue value, Diagnostics& diagnostics) {
  JsonObject object(value, "part", diagnostics);
  PartSpec part;
  part.place = value.place();
  part.name = object.string("name").value_or("");
  part.count = object.integer("count", 0, kMostParts).value_or(1);
  part.device = object.string("device").value_or("");
  part.template_name = object.string("template").value_or("");
  const auto kind = object.one_of("kind", kVertexKindWords);
  if (kind) {
    part.kind = static_cast<VertexKind>(*kind);
  }
  if (const JsonValue ids = object.array("ids")) {
    for (JsonValue id = ids.first(); id; id = id.next()) {
      part.ids.emplace_back(id.is_string() ? id.text() : "");
    }
  }
  object.finish();
  const int ways =
      (part.device.empty() ? 0 : 1) + (part.template_name.empty() ? 0 : 1) + (kind ? 1 : 0);
  if (value.is_object() && ways == 0) {
    diagnostics.error(
        "E0201", value.place(), "a part needs a \"device\", a \"kind\" or a \"template\"",
        "for example {\"name\": \"gpu\", \"count\": 8, \"device\": \"a100-sxm4-40gb\"}");
  }
  if (value.is_object() && part.name.empty() && part.template_name.empty()) {
    diagnostics.error("E0201", value.place(), "a part has no \"name\"", "add \"name\": \"gpu\"");
  }
  if (!part.name.empty() && part.name.find_first_of("0123456789/*[], ") != std::string::npos) {
    diagnostics.error("E0203", object.place_of("name"),
                      fmt::format("the name {} must be a plain word", json_quoted(part.name)),
                      "numbers are added by the count: \"gpu\" gives gpu0, gpu1, …");
  }
  return part;
}

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
  object.finish();
  return nodes;
}

// {"dgx-a100": 128} or a list of entries.
std::vector<NodesSpec> read_nodes(JsonObject& object, Diagnostics& diagnostics) {
  std::vector<NodesSpec> all;
  const JsonValue nodes = object.require("nodes");
  if (!nodes) {
    return all;
  }
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
    object.wrong_type(nodes, "{\"template\": count} or a list");
  }
  if ((nodes.is_array() || nodes.is_object()) && nodes.size() == 0) {
    diagnostics.error("E0203", nodes.place(), "\"nodes\" names no machine",
                      "for example {\"dgx-a100\": 2}");
  }
  return all;
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

OverrideSpec read_override(JsonValue value, Diagnostics& diagnostics) {
  JsonObject object(value, "override", diagnostics);
  OverrideSpec change;
  change.place = value.place();
  change.vertices = read_patterns(object, "vertices");
  change.device = object.string("device").value_or("");
  change.compute_scale = object.number("compute_scale", 1e-9).value_or(1);
  change.memory_bandwidth_scale = object.number("memory_bandwidth_scale", 1e-9).value_or(1);
  change.link_ends = read_patterns(object, "link");
  change.bandwidth_scale = object.number("bandwidth_scale", 1e-9).value_or(1);
  change.bandwidth = object.bandwidth("bandwidth");
  require_positive(object, "bandwidth", change.bandwidth);
  change.latency = object.time("latency");
  change.failed = object.boolean("failed").value_or(false);
  change.p2p_pair = read_patterns(object, "p2p");
  change.p2p_allowed = object.boolean("allowed").value_or(true);
  object.finish();
  for (const std::string_view key : {"link", "p2p"}) {
    const auto& pair = key == "link" ? change.link_ends : change.p2p_pair;
    if (!pair.empty() && pair.size() != 2) {
      diagnostics.error("E0203", object.place_of(key),
                        fmt::format("\"{}\" must name two ends", key),
                        fmt::format("for example \"{}\": [\"gpu0\", \"gpu1\"]", key));
      change.link_ends.clear();
      change.p2p_pair.clear();
    }
  }
  if (value.is_object() && !value.find("vertices") && !value.find("link") && !value.find("p2p")) {
    diagnostics.error("E0201", value.place(), "an override says what it changes",
                      "add \"vertices\", \"link\" or \"p2p\"");
  }
  return change;
}

template <class Item>
bool is_named(const std::vector<Item>& items, const std::string& name) {
  return std::any_of(items.begin(), items.end(),
                     [&](const Item& item) { return item.name == name; });
}

// Templates of catalogue machines that the nodes name but the file does not define.
void take_templates_from_catalogue(TopologySpec& spec, Diagnostics& diagnostics) {
  for (const NodesSpec& nodes : spec.nodes) {
    const auto source = catalogue_topology(nodes.template_name);
    if (is_named(spec.templates, nodes.template_name) || !source) {
      continue;
    }
    const JsonDocument document = JsonDocument::read(*source, diagnostics);
    TopologySpec found = read_topology(document.root(), diagnostics);
    for (TemplateSpec& one : found.templates) {
      if (!is_named(spec.templates, one.name)) {
        spec.templates.push_back(std::move(one));
      }
    }
    for (DeviceSpec& one : found.devices) {
      if (!is_named(spec.devices, one.name)) {
        spec.devices.push_back(std::move(one));
      }
    }
    if (!spec.fabric && spec.links.empty() && found.fabric) {
      spec.fabric = std::move(found.fabric);  // the machine's usual network
    }
  }
}

class DeviceResolver {
 public:
  DeviceResolver(TopologySpec& spec, Diagnostics& diagnostics)
      : spec_(spec), diagnostics_(diagnostics) {}

  void resolve_all() {
    for (TemplateSpec& one : spec_.templates) {
      for (PartSpec& part : one.parts) {
        if (const DeviceSpec* device =
                part.device.empty() ? nullptr : find(part.device, part.place)) {
          part.kind = device->kind;
        } else {
          part.device.clear();
        }
      }
    }
    for (OverrideSpec& change : spec_.overrides) {
      if (!change.device.empty() && find(change.device, change.place) == nullptr) {
        change.device.clear();
      }
    }
  }

 private:
  const DeviceSpec* find(const std::string& name, const Place& place) {
    const auto named = [&](const DeviceSpec& device) { return device.name == name; };
    const auto own = std::find_if(spec_.devices.begin(), spec_.devices.end(), named);
    if (own != spec_.devices.end()) {
      return &*own;
    }
    const auto known = std::find_if(catalogue().begin(), catalogue().end(), named);
    if (known != catalogue().end()) {
      spec_.devices.push_back(*known);
      return &spec_.devices.back();
    }
    std::vector<std::string> names;
    const auto name_of = [](const DeviceSpec& device) { return device.name; };
    std::transform(spec_.devices.begin(), spec_.devices.end(), std::back_inserter(names), name_of);
    std::transform(catalogue().begin(), catalogue().end(), std::back_inserter(names), name_of);
    diagnostics_.error("E0312", place, fmt::format("there is no device {}", json_quoted(name)),
                       did_you_mean(name, names));
    return nullptr;
  }

  const std::vector<DeviceSpec>& catalogue() {
    if (!catalogue_) {
      const JsonDocument document = JsonDocument::read(catalogue_devices(), diagnostics_);
      catalogue_ = read_devices(document.root().find("devices"), diagnostics_);
    }
    return *catalogue_;
  }

  TopologySpec& spec_;
  Diagnostics& diagnostics_;
  std::optional<std::vector<DeviceSpec>> catalogue_;
};

}  // namespace

std::vector<DeviceSpec> read_devices(JsonValue object, Diagnostics& diagnostics) {
  std::vector<DeviceSpec> devices;
  if (object && object.is_object()) {
    for (JsonValue entry = object.first(); entry; entry = entry.next()) {
      devices.push_back(read_device(entry, diagnostics));
    }
  }
  return devices;
}

void check_fabric_keys(const FabricSpec& fabric, Diagnostics& diagnostics) {
  const FabricKind* kind = find_fabric_kind(fabric.kind);
  if (kind == nullptr) {
    return;
  }
  const std::array<std::pair<std::string_view, bool>, 7> given = {{
      {"nodes_per_leaf", fabric.nodes_per_leaf.has_value()},
      {"spines", fabric.spines.has_value()},
      {"ports", fabric.ports.has_value()},
      {"levels", fabric.levels.has_value()},
      {"dims", !fabric.dims.empty()},
      {"uplink_bandwidth", fabric.uplink_bandwidth.has_value()},
      {"oversubscription", fabric.oversubscription != 1},
  }};
  for (const auto& [key, is_given] : given) {
    if (is_given && std::find(kind->keys.begin(), kind->keys.end(), key) == kind->keys.end()) {
      Place place = fabric.place;
      place.offset = -1;
      place.pointer += fmt::format("/{}", key);
      diagnostics.error("E0311", place,
                        fmt::format("\"{}\" has no effect in a {} fabric", key, kind->name),
                        "remove it, or choose another kind");
    }
  }
}

TopologySpec read_topology(JsonValue root, Diagnostics& diagnostics) {
  constexpr std::string_view kSchema = "twinrun/topology/1";
  TopologySpec spec;
  if (!root) {
    return spec;
  }
  JsonObject object(root, "topology", diagnostics);
  spec.place = root.place();
  if (const auto schema = object.string("schema"); schema && *schema != kSchema) {
    diagnostics.error("E0207", object.place_of("schema"),
                      fmt::format("this is {}, not a topology", json_quoted(*schema)),
                      fmt::format("a topology says \"schema\": \"{}\"", kSchema));
  }
  spec.name = object.string("name").value_or("");
  spec.description = object.string("description").value_or("");
  spec.source = object.string("source").value_or("");
  spec.devices = read_devices(object.object("devices"), diagnostics);
  if (const JsonValue templates = object.object("templates")) {
    for (JsonValue entry = templates.first(); entry; entry = entry.next()) {
      spec.templates.push_back(read_template(entry, diagnostics));
    }
  }
  spec.nodes = read_nodes(object, diagnostics);
  if (const JsonValue switches = object.array("switches")) {
    for (JsonValue entry = switches.first(); entry; entry = entry.next()) {
      JsonObject part(entry, "switch", diagnostics);
      PartSpec made;
      made.place = entry.place();
      part.require("name");
      made.name = part.string("name").value_or("switch");
      made.count = part.integer("count", 1, 1'000'000).value_or(1);
      made.kind = VertexKind::kSwitch;
      part.finish();
      spec.switches.push_back(std::move(made));
    }
  }
  if (const JsonValue links = object.array("links")) {
    for (JsonValue link = links.first(); link; link = link.next()) {
      spec.links.push_back(read_link(link, LinkKind::kNetwork, diagnostics));
    }
  }
  if (const JsonValue fabric = object.object("fabric")) {
    spec.fabric = read_fabric(fabric, diagnostics);
  }
  if (const JsonValue overrides = object.array("overrides")) {
    for (JsonValue change = overrides.first(); change; change = change.next()) {
      spec.overrides.push_back(read_override(change, diagnostics));
    }
  }
  object.finish();
  take_templates_from_catalogue(spec, diagnostics);
  DeviceResolver(spec, diagnostics).resolve_all();
  return spec;
}

}  // namespace twinrun
