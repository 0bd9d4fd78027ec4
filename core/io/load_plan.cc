#include "core/io/load_plan.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/did_you_mean.h"
#include "core/base/json_pointer.h"
#include "core/io/json_document.h"
#include "core/io/json_tokens.h"
#include "core/io/op_reader.h"
#include "core/io/payload_json.h"
#include "core/io/streamed_object.h"
#include "core/plan/plan_builder.h"
#include "core/plan/validate.h"

namespace twinrun {
namespace {

constexpr std::string_view kSchema = "twinrun/plan/1";
constexpr std::array<std::string_view, 9> kTopKeys = {
    "schema", "name", "topology", "devices", "groups", "workload", "ops", "comment", "source"};

// Reads the top level token by token: nothing of the file is held but the op at hand, however large
// or misplaced its parts are.
class PlanLoader {
 public:
  PlanLoader(const Source& source, Diagnostics& diagnostics)
      : file_(source.name()),
        diagnostics_(diagnostics),
        top_(source, "a plan", kTopKeys, diagnostics),
        tokens_(top_.tokens()),
        document_(file_),
        ops_(file_, builder_, diagnostics) {}

  std::optional<Plan> run();

 private:
  void read_member(std::string_view key, JsonToken token);
  void read_devices(JsonToken token);
  void read_groups(JsonToken token);
  void read_group(JsonToken token, const std::string& pointer, GroupId group);
  void read_ops(JsonToken token);
  void check_declared();

  [[nodiscard]] Place here(std::string pointer) const { return top_.here(std::move(pointer)); }

  std::string file_;
  Diagnostics& diagnostics_;
  StreamedObject top_;
  JsonTokens& tokens_;
  JsonDocument document_;
  PlanBuilder builder_;
  OpReader ops_;
  std::vector<bool> declared_devices_;
  std::vector<bool> declared_groups_;
  bool groups_missing_ = false;
  bool has_ops_ = false;
};

void PlanLoader::read_member(std::string_view key, JsonToken token) {
  if (key == "schema") {
    top_.read_schema(token, kSchema);
  } else if (key == "name") {
    top_.read_text(token, key, builder_.text().name);
  } else if (key == "topology") {
    top_.read_text(token, key, builder_.text().topology);
  } else if (key == "comment") {
    top_.read_text(token, key, builder_.text().comment);
  } else if (key == "source") {
    top_.read_text(token, key, builder_.text().source);
  } else if (key == "devices") {
    read_devices(token);
  } else if (key == "groups") {
    read_groups(token);
  } else if (key == "workload") {
    document_.fill(tokens_, token, "/workload", diagnostics_);
    builder_.set_workload(read_workload(document_.root(), diagnostics_));
  } else {
    read_ops(token);
  }
}

void PlanLoader::read_devices(JsonToken token) {
  if (token != JsonToken::kBeginArray) {
    top_.wrong_type(token, "/devices", "an array of device names");
    return;
  }
  std::size_t position = 0;
  for (token = tokens_.next(); token != JsonToken::kEndArray; token = tokens_.next()) {
    const std::string pointer = fmt::format("/devices/{}", position++);
    if (token != JsonToken::kString) {
      top_.wrong_type(token, pointer, "the name of a device");
      continue;
    }
    const std::size_t device = index_of(ops_.device(tokens_.text(), here(pointer)));
    declared_devices_.resize(std::max(declared_devices_.size(), device + 1));
    if (declared_devices_[device]) {
      diagnostics_.error("E0415", here(pointer),
                         fmt::format("the device \"{}\" is listed twice", tokens_.text()),
                         "list every device once");
    }
    declared_devices_[device] = true;
  }
}

void PlanLoader::read_groups(JsonToken token) {
  if (token != JsonToken::kBeginObject) {
    top_.wrong_type(token, "/groups", "an object of groups, each an array of device names");
    return;
  }
  while (tokens_.next() != JsonToken::kEndObject) {
    const std::string name(tokens_.text());
    const GroupId group = builder_.add_group(name);
    const std::string pointer = fmt::format("/groups/{}", escaped_for_pointer(name));
    declared_groups_.resize(std::max(declared_groups_.size(), index_of(group) + 1));
    if (declared_groups_[index_of(group)]) {
      diagnostics_.error("E0105", {file_, pointer, tokens_.offset(), true},
                         fmt::format("the group \"{}\" is given twice", name), "keep one of them");
    }
    declared_groups_[index_of(group)] = true;
    read_group(tokens_.next(), pointer, group);
  }
}

void PlanLoader::read_group(JsonToken token, const std::string& pointer, GroupId group) {
  if (token != JsonToken::kBeginArray) {
    top_.wrong_type(token, pointer, "an array of device names");
    return;
  }
  std::size_t position = 0;
  for (token = tokens_.next(); token != JsonToken::kEndArray; token = tokens_.next()) {
    const std::string entry = fmt::format("{}/{}", pointer, position++);
    if (token == JsonToken::kString) {
      builder_.add_to_group(group, ops_.device(tokens_.text(), here(entry)));
    } else {
      top_.wrong_type(token, entry, "the name of a device");
    }
  }
}

void PlanLoader::read_ops(JsonToken token) {
  if (token != JsonToken::kBeginArray) {
    top_.wrong_type(token, "/ops", "an array of ops");
    return;
  }
  has_ops_ = true;
  for (token = tokens_.next(); token != JsonToken::kEndArray; token = tokens_.next()) {
    document_.fill(tokens_, token, fmt::format("/ops/{}", builder_.size()), diagnostics_);
    ops_.read(document_.root());
  }
}

void PlanLoader::check_declared() {
  const bool lists_devices = top_.has("devices");
  declared_devices_.resize(builder_.devices().size());
  std::vector<std::string> known;
  for (std::size_t i = 0; i < declared_devices_.size(); ++i) {
    if (declared_devices_[i]) {
      known.emplace_back(builder_.devices()[i]);
    }
  }
  for (std::size_t i = 0; i < declared_devices_.size() && lists_devices; ++i) {
    if (!declared_devices_[i] && !ops_.device_places()[i].pointer.empty()) {
      diagnostics_.error("E0413", ops_.device_places()[i],
                         fmt::format("the device \"{}\" is not among the plan's \"devices\"",
                                     builder_.devices()[i]),
                         known.empty() ? "list it" : did_you_mean(builder_.devices()[i], known));
    }
  }
  declared_groups_.resize(builder_.groups().size());
  known.clear();
  for (std::size_t i = 0; i < declared_groups_.size(); ++i) {
    if (declared_groups_[i]) {
      known.emplace_back(builder_.groups()[i]);
    }
  }
  for (std::size_t i = 0; i < declared_groups_.size(); ++i) {
    if (!declared_groups_[i] && !ops_.group_places()[i].pointer.empty()) {
      groups_missing_ = true;
      diagnostics_.error(
          "E0414", ops_.group_places()[i],
          fmt::format("the group \"{}\" is not among the plan's \"groups\"", builder_.groups()[i]),
          known.empty() ? "add \"groups\": { \"name\": [devices …] }"
                        : did_you_mean(builder_.groups()[i], known));
    }
  }
}

std::optional<Plan> PlanLoader::run() {
  if (!top_.read([&](std::string_view key, JsonToken first) { read_member(key, first); })) {
    return std::nullopt;
  }
  if (top_.is_object()) {
    top_.require("schema", fmt::format("add \"schema\": \"{}\"", kSchema));
    top_.require("ops", "add \"ops\": […]");
  }
  check_declared();
  ops_.resolve();
  if (!has_ops_ || !ops_.all_readable() || groups_missing_) {
    return std::nullopt;
  }
  return std::move(builder_).finish();
}

}  // namespace

std::optional<Plan> load_plan(const Source& source, Diagnostics& diagnostics) {
  return PlanLoader(source, diagnostics).run();
}

std::optional<Plan> load_valid_plan(const Source& source,
                                    const std::function<bool(std::string_view)>& device_exists,
                                    Diagnostics& diagnostics) {
  std::optional<Plan> plan = load_plan(source, diagnostics);
  if (plan) {
    validate(*plan, {source.name(), device_exists, true}, diagnostics);
  }
  return plan;
}

}  // namespace twinrun
