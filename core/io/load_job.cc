#include "core/io/load_job.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "core/io/job_aliases.h"
#include "core/io/job_keys.h"
#include "core/io/json_object.h"
#include "core/io/json_tokens.h"
#include "core/io/json_tree.h"

namespace twinrun {
namespace {

constexpr std::string_view kJobSchema = "twinrun/job/1";

void check_schema(JsonObject& object) {
  const auto schema = object.string("schema");
  if (schema && *schema != kJobSchema) {
    object.diagnostics().error("E0207", object.place_of("schema"),
                               fmt::format("this is {}, not a job", quoted_for_people(*schema)),
                               fmt::format("a job says \"schema\": \"{}\"", kJobSchema));
  }
}

void read_blocks(JsonObject& object, Job& job) {
  for (const std::string_view name : kJobBlocks) {
    const JsonValue value = object.object(name);
    if (!value) {
      continue;
    }
    job.server.given = job.server.given || name == "server";
    job.input.given = job.input.given || name == "input";
    JsonObject block(value, fmt::format("\"{}\"", name), object.diagnostics());
    for (const JobKey& key : job_keys()) {
      if (key.block == name) {
        key.read(block, key.name, job);
      }
    }
    block.finish();
  }
}

// Samples of other models have no tokens.
void warn_of_idle_sequence(const LoadedJob& loaded, Diagnostics& diagnostics) {
  if (loaded.job.training.seq_length > 0 && !diagnostics.has_errors() &&
      !loaded.model.transformer) {
    diagnostics.warning(
        "W0701", place_in(loaded.job, "/training/seq_length"),
        fmt::format("\"seq_length\" has no effect: {} is no transformer", loaded.job.model_name),
        "leave it out");
  }
}

// What people call it: the name as written, or that inside.
std::string name_of(JsonValue value, const std::string& inside, const char* otherwise) {
  return value && value.is_string() ? std::string(value.text())
         : inside.empty()           ? otherwise
                                    : inside;
}

LoadedJob read_settled(JsonValue root,
                       const PlaceMap& places,
                       const std::string& file,
                       const OpenSource& open,
                       Diagnostics& diagnostics) {
  LoadedJob out;
  Job& job = out.job;
  job.file = file;
  job.places = places;
  JsonObject object(root, "job", diagnostics);
  check_schema(object);
  job.name = object.string("name").value_or("");
  read_blocks(object, job);
  const auto home_of = [&](const char* pointer) { return places.is_in_file(pointer) ? file : ""; };
  const JsonValue model = object.require("model");
  JobModel read_in =
      read_job_model(model, home_of("/model"), job.training.seq_length, open, diagnostics);
  out.model = std::move(read_in.model);
  out.model_is_named = read_in.is_named;
  job.model_name = name_of(model, out.model.name, "the job's own model");
  const JsonValue topology = object.require("topology");
  JobTopology machine = read_job_topology(topology, home_of("/topology"), open, diagnostics);
  out.topology = std::move(machine.spec);
  out.topology_is_named = machine.is_named;
  job.topology_name = name_of(topology, out.topology.name, "the job's own topology");
  if (out.topology.name.empty()) {
    out.topology.name = job.topology_name;
  }
  object.finish();
  warn_of_idle_sequence(out, diagnostics);
  return out;
}

// By the first key that tells. Neither a schema nor a plan's key: a job may leave out all but its
// model and topology.
bool says_job(JsonTokens& tokens) {
  constexpr std::array<std::string_view, 3> kOfPlans = {"ops", "devices", "groups"};
  std::size_t depth = 0;
  std::string key;
  for (JsonToken token = tokens.next(); token != JsonToken::kEnd; token = tokens.next()) {
    const bool opens = token == JsonToken::kBeginObject || token == JsonToken::kBeginArray;
    const bool closes = token == JsonToken::kEndObject || token == JsonToken::kEndArray;
    if (depth == 1 && token == JsonToken::kString && key == "schema") {
      return tokens.text().starts_with("twinrun/job");
    }
    if (depth == 1 && token == JsonToken::kKey) {
      key = tokens.text();
    }
    if (std::find(kOfPlans.begin(), kOfPlans.end(), key) != kOfPlans.end()) {
      return false;
    }
    depth = opens ? depth + 1 : closes ? depth - 1 : depth;
    if (depth == 0) {
      break;
    }
  }
  return true;
}

}  // namespace

LoadedJob read_job(const Source& source, const JobOptions& options, Diagnostics& diagnostics) {
  const JsonDocument written = JsonDocument::read(source, diagnostics);
  if (diagnostics.has_errors()) {
    return {};
  }
  return read_job_tree(to_tree(written.root()), PlaceMap(source.name()), options, diagnostics);
}

LoadedJob read_job_tree(JsonTree tree,
                        PlaceMap places,
                        const JobOptions& options,
                        Diagnostics& diagnostics) {
  const std::string& file = places.file();
  settle_aliases(tree, file, places, diagnostics);
  apply_overrides(tree, options.overrides, file, places, diagnostics);
  const JsonDocument document = to_document(tree, places, diagnostics);
  return read_settled(document.root(), places, file, options.open, diagnostics);
}

bool is_job(const Source& source) {
  try {
    JsonTokens tokens(source);
    return says_job(tokens);
  } catch (const JsonSyntaxError&) {
    return false;  // whoever reads it complains
  }
}

}  // namespace twinrun
