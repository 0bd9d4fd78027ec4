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
#include "core/io/load_topology_entries.h"
#include "core/topology/fabric.h"

namespace twinrun {
namespace {

template <class Item>
bool is_named(const std::vector<Item>& items, const std::string& name) {
  return std::any_of(items.begin(), items.end(),
                     [&](const Item& item) { return item.name == name; });
}

// The template of a catalogue machine with all it is made of. Smaller templates get the machine's
// name before theirs: the file may have another "socket" of its own.
TopologySpec catalogue_machine(const std::string& name,
                               const Source& source,
                               Diagnostics& diagnostics) {
  const JsonDocument document = JsonDocument::read(source, diagnostics);
  TopologySpec found = read_topology(document.root(), diagnostics);
  const auto rename = [&](std::string& other) {
    other = other.empty() || other == name ? other : fmt::format("{}/{}", name, other);
  };
  for (TemplateSpec& one : found.templates) {
    rename(one.name);
    for (PartSpec& part : one.parts) {
      rename(part.template_name);
    }
  }
  return found;
}

// Takes from the catalogue the templates that the file names but does not define.
class TemplateResolver {
 public:
  TemplateResolver(TopologySpec& spec, Diagnostics& diagnostics)
      : spec_(spec), diagnostics_(diagnostics) {}

  void resolve_all() {
    for (const NodesSpec& nodes : spec_.nodes) {
      take(nodes.template_name);
    }
    for (std::size_t i = 0; i < spec_.templates.size(); ++i) {  // taken ones are added at the end
      for (std::size_t part = 0; part < spec_.templates[i].parts.size(); ++part) {
        take(std::string(spec_.templates[i].parts[part].template_name));
      }
    }
    if (!spec_.fabric && spec_.links.empty()) {
      spec_.fabric = usual_fabric_;
    }
  }

 private:
  void take(const std::string& name) {
    const auto source = catalogue_topology(name);
    if (!source || is_named(spec_.templates, name)) {
      return;
    }
    TopologySpec found = catalogue_machine(name, *source, diagnostics_);
    std::move(found.templates.begin(), found.templates.end(), std::back_inserter(spec_.templates));
    for (DeviceSpec& one : found.devices) {
      if (!is_named(spec_.devices, one.name)) {
        spec_.devices.push_back(std::move(one));
      }
    }
    if (!usual_fabric_) {
      usual_fabric_ = std::move(found.fabric);
    }
  }

  TopologySpec& spec_;
  Diagnostics& diagnostics_;
  std::optional<FabricSpec> usual_fabric_;  // the network of the first machine that has one
};

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
    diagnostics_.error("E0324", place, fmt::format("there is no device {}", json_quoted(name)),
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
      if (!place.file.empty()) {  // else: from an expression, which has no places
        place.offset = -1;
        place.pointer += fmt::format("/{}", key);
      }
      diagnostics.error("E0323", place,
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
  if (const JsonValue nodes = object.require("nodes")) {
    spec.nodes = read_nodes(nodes, diagnostics);
  }
  if (const JsonValue switches = object.array("switches")) {
    for (JsonValue entry = switches.first(); entry; entry = entry.next()) {
      spec.switches.push_back(read_switch(entry, diagnostics));
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
  if (const JsonValue cores = object.array("cores")) {
    for (JsonValue entry = cores.first(); entry; entry = entry.next()) {
      spec.cores.push_back(read_cores(entry, diagnostics));
    }
  }
  object.finish();
  TemplateResolver(spec, diagnostics).resolve_all();
  DeviceResolver(spec, diagnostics).resolve_all();
  return spec;
}

}  // namespace twinrun
