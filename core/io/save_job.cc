#include "core/io/save_job.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/io/job_keys.h"
#include "core/io/save_model.h"
#include "core/io/save_topology.h"

namespace twinrun {
namespace {

using Json = nlohmann::ordered_json;

std::string json_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// A text of ours one level deeper. Strings of JSON hold no line breaks, so all of them are ours.
std::string indented(std::string text) {
  text.erase(text.find_last_not_of('\n') + 1);
  for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 3)) {
    text.insert(at + 1, "  ");
  }
  return text;
}

Json block_json(std::string_view block, const Job& job) {
  Json json = Json::object();
  for (const JobKey& key : job_keys()) {
    if (key.block != block) {
      continue;
    }
    if (const auto value = key.write(job)) {
      json[std::string(key.name)] = *value;
    }
  }
  return json;
}

}  // namespace

std::string save_job(const LoadedJob& loaded) {
  const Job& job = loaded.job;
  std::string text = "{\n  \"schema\": \"twinrun/job/1\"";
  const auto add = [&](std::string_view key, const std::string& value) {
    text += fmt::format(",\n  \"{}\": {}", key, value);
  };
  if (!job.name.empty()) {
    add("name", json_text(job.name));
  }
  add("model",
      loaded.model_is_named ? json_text(job.model_name) : indented(save_model(loaded.model)));
  add("topology", loaded.topology_is_named ? json_text(job.topology_name)
                                           : indented(save_topology(loaded.topology)));
  for (const std::string_view block : kJobBlocks) {
    const Json json = block_json(block, job);
    // These two change the run by being there.
    const bool is_given =
        (block == "server" && job.server.given) || (block == "input" && job.input.given);
    if (!json.empty() || is_given) {
      add(block, json_text(json));
    }
  }
  return text + "\n}\n";
}

}  // namespace twinrun
