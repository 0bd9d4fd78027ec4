#include "core/io/job_overrides.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/base/did_you_mean.h"
#include "core/base/json_pointer.h"
#include "core/io/job_aliases.h"
#include "core/io/job_inputs.h"
#include "core/io/job_keys.h"
#include "core/io/save_model.h"
#include "core/model/catalogue.h"

namespace twinrun {
namespace {

// JSON when it is JSON, else the text itself: dtype=fp16 needs no quotes.
JsonTree value_of(const std::string& text) {
  Diagnostics complaints;
  const JsonDocument document = JsonDocument::read(Source::of_text("--set", text), complaints);
  return complaints.has_errors() ? JsonTree(text) : to_tree(document.root());
}

std::pair<std::string, std::string> split_at_dot(const std::string& path) {
  const std::size_t dot = path.find('.');
  return dot == std::string::npos ? std::pair(path, std::string())
                                  : std::pair(path.substr(0, dot), path.substr(dot + 1));
}

// dgx-a100:nodes=2,nic=10Gb/s with nodes=4 -> dgx-a100:nic=10Gb/s,nodes=4
std::string extended_expression(const std::string& expression,
                                const std::string& key,
                                const std::string& value) {
  const std::size_t colon = std::min(expression.find(':'), expression.size());
  std::string settings;
  std::string_view rest = std::string_view(expression).substr(colon);
  while (!rest.empty()) {
    rest.remove_prefix(1);  // the colon, or a comma
    const std::string_view item = rest.substr(0, rest.find(','));
    if (item.substr(0, item.find('=')) != key) {
      settings += fmt::format("{},", item);
    }
    rest.remove_prefix(item.size());
  }
  return fmt::format("{}:{}{}={}", expression.substr(0, colon), settings, key, value);
}

class Overrider {
 public:
  Overrider(JsonTree& job, const std::string& file, PlaceMap& places, Diagnostics& diagnostics)
      : job_(job), file_(file), places_(places), diagnostics_(diagnostics) {}

  void apply(const JobOverride& change) {
    const auto [first, rest] = split_at_dot(change.path);
    if (change.path == "name") {
      set("/name", job_["name"], change, change.value);
    } else if (first == "model" || first == "topology") {
      rest.empty() ? set("/" + first, job_[first], change, value_of(change.value))
                   : set_below(first, rest, change);
    } else if (const std::optional<Target> target = find_target(change)) {
      set_key(*target, change);
    } else {
      unknown_path(change);
    }
  }

 private:
  struct Target {
    const JobKey* key;
    std::optional<JsonTree> value;  // nothing: the setting is off and says nothing
  };

  void set(const std::string& pointer, JsonTree& where, const JobOverride& change, JsonTree value) {
    where = std::move(value);
    places_.move_to_option(pointer, change.option);
  }

  static std::optional<Target> find_target(const JobOverride& change) {
    const auto [block, name] = split_at_dot(change.path);
    const bool is_block =
        std::find(kJobBlocks.begin(), kJobBlocks.end(), block) != kJobBlocks.end();
    const std::string_view home = is_block ? std::string_view(block) : std::string_view();
    const std::string& written = is_block ? name : change.path;
    const JobAlias* const alias = find_job_alias(home, written);
    const JobKey* const key = alias != nullptr ? find_job_key(alias->block, alias->key)
                                               : find_job_key(home, with_underscores(written));
    if (key == nullptr) {
      return std::nullopt;
    }
    if (key->is_text && (alias == nullptr || alias->convert == nullptr)) {
      return Target{key, change.value};
    }
    JsonTree value = value_of(change.value);
    const bool converts = alias != nullptr && alias->convert != nullptr;
    return Target{key, converts ? alias->convert(value) : std::move(value)};
  }

  void set_key(const Target& target, const JobOverride& change) {
    if (!target.value) {
      return;
    }
    JsonTree& block = job_[std::string(target.key->block)];
    if (block.is_null()) {
      block = JsonTree::object();
    }
    if (block.is_object()) {  // else complained about when it is read
      set(target.key->pointer(), block[std::string(target.key->name)], change, *target.value);
    }
  }

  // A key of the topology, or of a model that is written out.
  void set_below(const std::string& part, const std::string& key, const JobOverride& change) {
    JsonTree& held = job_[part];
    const bool extends = part == "topology" && held.is_string() &&
                         is_topology_name(held.get_ref<const std::string&>());
    if (extends) {
      const std::string text =
          extended_expression(held.get_ref<const std::string&>(), key, change.value);
      set("/" + part, held, change, text);
      return;
    }
    if (held.is_string() && !write_out(part, held)) {
      return;
    }
    if (!held.is_object()) {
      diagnostics_.error("E0701", {change.option, "", -1, false},
                         fmt::format("the job has no {} whose \"{}\" could be set", part, key),
                         fmt::format("name one: --{} …", part));
      return;
    }
    set_in_object(held, "/" + part, key, change);
  }

  // What a name or a file stands for is read into the job, so that its keys can be set.
  bool write_out(const std::string& part, JsonTree& held) {
    const std::string written = held.get<std::string>();
    const std::optional<Model> known = part == "model" ? catalogue_model(written) : std::nullopt;
    if (known) {
      held = JsonTree::parse(save_model(*known));
      places_.move("/" + part, {fmt::format("{} of the catalogue", written), "", -1, false});
      return true;
    }
    const std::string path = file_of(written, places_.is_in_file("/" + part) ? file_ : "");
    const JsonDocument document = JsonDocument::read(Source::of_argument(path), diagnostics_);
    if (!document.root()) {
      return false;
    }
    held = to_tree(document.root());
    places_.move("/" + part, {path, "", -1, false});
    return true;
  }

  // Keys of machines hold dots (p3.2xlarge), so the longest key that is there is meant.
  void set_in_object(JsonTree& held,
                     std::string pointer,
                     std::string path,
                     const JobOverride& change) {
    JsonTree* where = &held;
    while (true) {
      std::size_t end = path.size();
      while (end != std::string::npos && end > 0 && !where->contains(path.substr(0, end))) {
        end = path.rfind('.', end - 1);
      }
      if (end == std::string::npos || end == 0) {
        end = std::min(path.find('.'), path.size());  // a new key
      }
      const std::string key = path.substr(0, end);
      pointer += "/" + escaped_for_pointer(key);
      where = &(*where)[key];
      if (end == path.size()) {
        set(pointer, *where, change, value_of(change.value));
        return;
      }
      path.erase(0, end + 1);
      if (where->is_null()) {
        *where = JsonTree::object();
        places_.move_to_option(pointer, change.option);
      }
      if (!where->is_object()) {
        diagnostics_.error("E0701", {change.option, "", -1, false},
                           fmt::format("\"{}\" is no object, so it has no \"{}\"", key, path));
        return;
      }
    }
  }

  // The nearest path under any name; the list is of our own ones.
  void unknown_path(const JobOverride& change) {
    std::vector<std::string> own = {"model", "topology", "name"};
    std::vector<std::string> bare;
    for (const JobKey& key : job_keys()) {
      own.push_back(key.path());
      bare.emplace_back(key.name);
    }
    std::vector<std::string> all = own;
    for (const JobAlias& alias : job_aliases()) {
      all.push_back(alias.where == JobAlias::Where::kTop
                        ? std::string(alias.name)
                        : fmt::format("{}.{}", alias.block, alias.name));
    }
    // Only the block is missing or another's.
    const std::string leaf = change.path.substr(change.path.rfind('.') + 1);
    const auto same = std::find(bare.begin(), bare.end(), leaf);
    const std::string near = same == bare.end()
                                 ? nearest_name(change.path, all)
                                 : job_keys()[static_cast<std::size_t>(same - bare.begin())].path();
    diagnostics_.error(
        "E0701", {change.option, "", -1, false},
        fmt::format("{}: a job has no such key", change.option),
        near.empty() ? did_you_mean(change.path, own) : fmt::format("did you mean \"{}\"?", near));
  }

  JsonTree& job_;
  const std::string& file_;
  PlaceMap& places_;
  Diagnostics& diagnostics_;
};

}  // namespace

JobOverride parse_override(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw UsageError(fmt::format("--set {}: not path=value", text),
                     "write --set training.local_batch_size=64");
  }
  return {"--set " + text, text.substr(0, equals), text.substr(equals + 1)};
}

void apply_overrides(JsonTree& job,
                     const std::vector<JobOverride>& overrides,
                     const std::string& file,
                     PlaceMap& places,
                     Diagnostics& diagnostics) {
  if (!job.is_object()) {
    return;
  }
  Overrider overrider(job, file, places, diagnostics);
  for (const JobOverride& change : overrides) {
    overrider.apply(change);
  }
}

}  // namespace twinrun
