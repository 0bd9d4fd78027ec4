#include "core/io/topology_argument.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <functional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/did_you_mean.h"
#include "core/io/catalogue.h"
#include "core/io/load_topology.h"
#include "core/topology/fabric.h"

namespace twinrun {
namespace {

// As in files; the expansion complains about what is still too much.
struct Range {
  std::int64_t least = 1;
  std::int64_t most = 1'000'000'000;
};

std::optional<std::int64_t> whole_number(const std::string& text, Range range) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool good = error == std::errc() && end == text.data() + text.size();
  return good && value >= range.least && value <= range.most ? std::optional(value) : std::nullopt;
}

// One key of an expression: what it wants, and what it does with the value; false when it is no
// such value.
struct ExpressionKey {
  std::string_view name;
  std::string_view wants;
  std::function<bool(TopologySpec&, const std::string&)> apply;
};

NodesSpec* group_with_role(TopologySpec& spec, std::string_view role) {
  const auto found = std::find_if(spec.nodes.begin(), spec.nodes.end(),
                                  [&](const NodesSpec& nodes) { return nodes.role == role; });
  return found == spec.nodes.end() ? nullptr : &*found;
}

FabricSpec& fabric_of(TopologySpec& spec) {
  if (!spec.fabric) {
    spec.fabric.emplace();
    spec.fabric->kind = "single-switch";
  }
  return *spec.fabric;
}

// Another kind of network: what belongs to the machine's usual one alone is forgotten.
bool change_fabric(TopologySpec& spec, const std::string& kind) {
  if (find_fabric_kind(kind) == nullptr) {
    return false;
  }
  FabricSpec changed;
  changed.kind = kind;
  if (spec.fabric) {
    changed.latency = spec.fabric->latency;
    changed.bandwidth = spec.fabric->bandwidth;
  }
  spec.fabric = changed;
  return true;
}

template <class Target>
auto count_key(Target target, Range range = {}) {
  return [=](TopologySpec& spec, const std::string& text) {
    const auto value = whole_number(text, range);
    if (value) {
      target(spec) = *value;
    }
    return value.has_value();
  };
}

// NICs are meant of every machine: servers get the same as workers.
bool set_nics(TopologySpec& spec, const std::string& text) {
  const auto value = whole_number(text, {0, 10'000});
  for (NodesSpec& nodes : spec.nodes) {
    nodes.nics = value;
  }
  return value.has_value();
}

bool set_nic_rate(TopologySpec& spec, const std::string& text) {
  const auto value = parse_bandwidth(text);
  for (NodesSpec& nodes : spec.nodes) {
    nodes.nic_rate = value;
  }
  return value && value->bytes_per_s > 0;
}

template <class Target>
auto rate_key(Target target) {
  return [=](TopologySpec& spec, const std::string& text) {
    const auto value = parse_bandwidth(text);
    const bool good = value && value->bytes_per_s > 0;
    if (good) {
      target(spec) = *value;
    }
    return good;
  };
}

template <std::size_t Size>
std::optional<std::size_t> place_of_word(const std::array<std::string_view, Size>& words,
                                         std::string_view text) {
  const auto found = std::find(words.begin(), words.end(), text);
  return found == words.end() ? std::nullopt
                              : std::optional(static_cast<std::size_t>(found - words.begin()));
}

bool set_dims(TopologySpec& spec, const std::string& text) {
  std::vector<std::int64_t> dims;
  std::size_t start = 0;
  while (start <= text.size()) {
    const std::size_t cross = std::min(text.find('x', start), text.size());
    const auto extent = whole_number(text.substr(start, cross - start), {});
    if (!extent) {
      return false;
    }
    dims.push_back(*extent);
    start = cross + 1;
  }
  fabric_of(spec).dims = std::move(dims);
  return true;
}

bool set_latency(TopologySpec& spec, const std::string& text) {
  const auto value = parse_time(text);
  if (value) {
    fabric_of(spec).latency = *value;
  }
  return value.has_value();
}

bool set_routing(TopologySpec& spec, const std::string& text) {
  const auto rule = place_of_word(kRoutingRuleWords, text);
  if (rule) {
    fabric_of(spec).routing = static_cast<RoutingRule>(*rule);
  }
  return rule.has_value();
}

bool set_oversubscription(TopologySpec& spec, const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() ||
      !(value >= 0.001 && value <= 1e6)) {
    return false;
  }
  FabricSpec& fabric = fabric_of(spec);
  // One switch has no uplinks to be oversubscribed; fabric=single-switch, when written, refuses it.
  if (fabric.kind == "single-switch" && !fabric.place.file.empty() && value != 1) {
    fabric.kind = "leaf-spine";
  }
  fabric.oversubscription = value;
  return true;
}

bool set_p2p(TopologySpec& spec, const std::string& text) {
  const auto level =
      text == "none" ? std::optional<std::size_t>(0) : place_of_word(kPathClassWords, text);
  if (level) {
    for (TemplateSpec& one : spec.templates) {
      one.p2p = static_cast<PathClass>(*level);
    }
  }
  return level.has_value();
}

// Another GPU of the catalogue in the places of the machine's own.
bool set_gpu_device(TopologySpec& spec, const std::string& text) {
  Diagnostics none;  // the catalogue's file has been read before
  const JsonDocument document = JsonDocument::read(catalogue_devices(), none);
  const std::vector<DeviceSpec> known = read_devices(document.root().find("devices"), none);
  const auto device = std::find_if(known.begin(), known.end(), [&](const DeviceSpec& one) {
    return one.kind == VertexKind::kGpu && one.name == text;
  });
  if (device == known.end()) {
    return false;
  }
  for (TemplateSpec& one : spec.templates) {
    for (PartSpec& part : one.parts) {
      const bool is_gpu = part.template_name.empty() && part.kind == VertexKind::kGpu;
      part.device = is_gpu ? text : part.device;
    }
  }
  if (std::find(spec.devices.begin(), spec.devices.end(), *device) == spec.devices.end()) {
    spec.devices.push_back(*device);
  }
  return true;
}

bool set_servers(TopologySpec& spec, const std::string& text) {
  NodesSpec* servers = group_with_role(spec, "server");
  const auto count = whole_number(text, {});
  if (servers == nullptr || !count) {
    return false;
  }
  servers->count = *count;
  return true;
}

const std::vector<ExpressionKey>& expression_keys() {
  constexpr std::string_view kCount = "a whole number";
  static const auto first_nodes = [](TopologySpec& s) -> std::int64_t& {
    return s.nodes.front().count;
  };
  static const std::vector<ExpressionKey> keys = {
      {"nodes", kCount, count_key(first_nodes)},
      {"hosts", kCount, count_key(first_nodes)},
      {"servers", "a whole number, for clusters with servers", set_servers},
      {"gpus", "a whole number, per node",
       count_key([](TopologySpec & s) -> auto& { return s.nodes.front().gpus; }, {0})},
      {"gpu", "a GPU of the catalogue, such as p40", set_gpu_device},
      {"nics", "a whole number, per node", set_nics},
      {"devices", "a whole number, per node",
       count_key([](TopologySpec & s) -> auto& { return s.nodes.front().devices; },
                 {1, 1'000'000})},
      {"nic", kBandwidthForms, set_nic_rate},
      {"fabric", "a kind of fabric", change_fabric},
      {"bandwidth", kBandwidthForms,
       rate_key([](TopologySpec & s) -> auto& { return fabric_of(s).bandwidth; })},
      {"uplink_bandwidth", kBandwidthForms,
       rate_key([](TopologySpec & s) -> auto& { return fabric_of(s).uplink_bandwidth; })},
      {"latency", kTimeForms, set_latency},
      {"oversubscription", "a number such as 2", set_oversubscription},
      {"nodes_per_leaf", kCount,
       count_key([](TopologySpec & s) -> auto& { return fabric_of(s).nodes_per_leaf; })},
      {"spines", kCount,
       count_key([](TopologySpec & s) -> auto& { return fabric_of(s).spines; }, {0, 100'000})},
      {"ports", kCount,
       count_key([](TopologySpec & s) -> auto& { return fabric_of(s).ports; }, {2, 100'000})},
      {"levels", "1, 2 or 3",
       count_key([](TopologySpec & s) -> auto& { return fabric_of(s).levels; }, {1, 3})},
      {"dims", "extents such as 4x4x2", set_dims},
      {"routing", "ecmp or d-mod-k", set_routing},
      {"p2p", "none, NVL, PIX, PXB, PHB or SYS", set_p2p},
  };
  return keys;
}

class Expression {
 public:
  Expression(const std::string& text, Diagnostics& diagnostics)
      : text_(text), diagnostics_(diagnostics) {}

  void apply_to(TopologySpec& spec) {
    const std::size_t colon = text_.find(':');
    std::string_view rest =
        std::string_view(text_).substr(colon == std::string::npos ? text_.size() : colon + 1);
    std::vector<std::pair<std::string, std::string>> settings;
    while (!rest.empty()) {
      const std::string_view item = rest.substr(0, rest.find(','));
      const std::size_t equals = item.find('=');
      if (equals == std::string_view::npos) {
        complain(fmt::format("\"{}\" is not key=value", item), "for example nodes=16");
      } else {
        settings.emplace_back(item.substr(0, equals), item.substr(equals + 1));
      }
      rest.remove_prefix(std::min(item.size() + 1, rest.size()));
    }
    // The kind of fabric first: the other keys refine it, in whatever order they are written.
    std::stable_partition(settings.begin(), settings.end(),
                          [](const auto& s) { return s.first == "fabric"; });
    for (std::size_t i = 0; i < settings.size(); ++i) {
      const auto same = [&](const auto& other) { return other.first == settings[i].first; };
      if (std::any_of(settings.begin(), settings.begin() + static_cast<std::ptrdiff_t>(i), same)) {
        complain(fmt::format("\"{}\" is given twice", settings[i].first), "keep one of them");
      } else {
        apply(spec, settings[i].first, settings[i].second);
      }
    }
    if (settings.empty()) {
      return;
    }
    // What is wrong now is wrong in the expression, not in the catalogue's file.
    for (NodesSpec& nodes : spec.nodes) {
      nodes.place = {};
    }
    if (spec.fabric) {
      spec.fabric->place = {};
      check_fabric_keys(*spec.fabric, diagnostics_);
    }
  }

 private:
  void apply(TopologySpec& spec, const std::string& key, const std::string& value) {
    std::vector<std::string> names;
    for (const ExpressionKey& known : expression_keys()) {
      names.emplace_back(known.name);
      if (known.name == key) {
        if (!known.apply(spec, value)) {
          complain(fmt::format("\"{}\" is no value for {}", value, key), help_with(known, value));
        }
        return;
      }
    }
    complain(fmt::format("unknown key \"{}\"", key), did_you_mean(key, names));
  }

  static std::string help_with(const ExpressionKey& key, const std::string& value) {
    if (key.name != "fabric") {
      return fmt::format("write {}={}", key.name, key.wants);
    }
    std::vector<std::string> kinds;
    for (const FabricKind& kind : fabric_kinds()) {
      kinds.emplace_back(kind.name);
    }
    return did_you_mean(value, kinds);
  }

  void complain(const std::string& what, std::string help) {
    diagnostics_.error("E0321", {}, fmt::format("{} in the topology \"{}\"", what, text_),
                       std::move(help));
  }

  const std::string& text_;
  Diagnostics& diagnostics_;
};

TopologySpec read_source(const Source& source, Diagnostics& diagnostics) {
  const JsonDocument document = JsonDocument::read(source, diagnostics);
  return read_topology(document.root(), diagnostics);
}

// Plain hosts, for questions about the network alone.
TopologySpec hosts_on(const std::string& fabric, Diagnostics& diagnostics) {
  const std::string text = fmt::format(
      R"({{"templates": {{"host": {{"parts": [{{"name": "cpu", "device": "host"}}]}}}},
          "nodes": {{"host": 2}}, "fabric": {{"kind": "{}"}}}})",
      fabric);
  TopologySpec spec = read_source(Source::of_text("<hosts>", text), diagnostics);
  spec.fabric->place = {};  // nobody can look into this text
  spec.nodes.front().place = {};
  return spec;
}

void unknown_topology(const std::string& name, Diagnostics& diagnostics) {
  std::vector<std::string> names = catalogue_topology_names();
  for (const FabricKind& kind : fabric_kinds()) {
    names.emplace_back(kind.name);
  }
  diagnostics.error(
      "E0320", {},
      fmt::format("there is no topology \"{}\", neither in the catalogue nor as a file", name),
      did_you_mean(name, names));
}

}  // namespace

TopologySpec read_topology_argument(const std::string& argument, Diagnostics& diagnostics) {
  const std::string name = argument.substr(0, argument.find(':'));
  std::error_code no_matter;
  if (name.size() < argument.size() && name.ends_with(".json") &&
      !std::filesystem::exists(argument, no_matter)) {  // machine.json:devices=4
    TopologySpec changed = read_source(Source::of_argument(name), diagnostics);
    if (!diagnostics.has_errors()) {
      Expression(argument, diagnostics).apply_to(changed);
    }
    changed.name = changed.name.empty() ? argument : changed.name + argument.substr(name.size());
    return changed;
  }
  const std::optional<Source> machine = catalogue_topology(name);
  const bool is_fabric = find_fabric_kind(name) != nullptr;
  TopologySpec spec;
  if (!machine && !is_fabric) {
    std::error_code unreadable;  // a name too long for a file is no file
    const bool looks_like_file = argument == "-" || argument.find('/') != std::string::npos ||
                                 argument.ends_with(".json") ||
                                 std::filesystem::exists(argument, unreadable);
    if (looks_like_file) {
      spec = read_source(Source::of_argument(argument), diagnostics);
    } else {
      unknown_topology(argument, diagnostics);
    }
  } else {
    spec = machine ? read_source(*machine, diagnostics) : hosts_on(name, diagnostics);
    Expression(argument, diagnostics).apply_to(spec);
    if (argument.find(':') != std::string::npos) {
      spec.name = argument;
    }
  }
  if (spec.name.empty()) {
    spec.name = argument;
  }
  return spec;
}

}  // namespace twinrun
