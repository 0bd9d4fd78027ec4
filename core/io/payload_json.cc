#include "core/io/payload_json.h"

#include <limits>
#include <vector>

#include <fmt/format.h>

#include "core/io/json_object.h"
#include "core/strategy/job.h"

namespace twinrun {
namespace {

constexpr std::int64_t kMostNumber = std::numeric_limits<std::uint32_t>::max();
constexpr std::int64_t kMostInFlight = 1'000'000;

template <class Words, class Word>
std::string quoted_word(const Words& words, Word word) {
  return fmt::format("\"{}\"", words[static_cast<std::size_t>(word)]);
}

std::string range_text(const CountRange& range) {
  return fmt::format("[{}, {}]", range.begin, range.end);
}

std::string layer_text(const WorkLayer& layer) {
  std::string out = fmt::format("{{\"name\": {}, \"kind\": {}, \"inputs\": {}, \"outputs\": {}",
                                json_quoted(layer.name), quoted_word(kWorkKindWords, layer.kind),
                                layer.inputs, layer.outputs);
  if (layer.has_bias) {
    out += ", \"bias\": true";
  }
  if (layer.division != LayerDivision::kWhole) {
    out += ", \"division\": " + quoted_word(kLayerDivisionWords, layer.division);
  }
  return out + "}";
}

WorkLayer read_layer(JsonValue value, Diagnostics& diagnostics) {
  JsonObject object(value, "layer of a workload", diagnostics);
  WorkLayer layer;
  object.require("name");
  object.require("kind");
  object.require("inputs");
  object.require("outputs");
  layer.name = object.string("name").value_or("");
  layer.kind = static_cast<WorkKind>(object.one_of("kind", kWorkKindWords).value_or(0));
  layer.inputs = object.integer("inputs", 1, kMostNumber).value_or(1);
  layer.outputs = object.integer("outputs", 0, kMostNumber).value_or(1);
  layer.has_bias = object.boolean("bias").value_or(false);
  layer.division =
      static_cast<LayerDivision>(object.one_of("division", kLayerDivisionWords).value_or(0));
  object.finish();
  return layer;
}

// [begin, end]
CountRange read_range(JsonObject& object, JsonValue value) {
  const JsonValue begin = value.is_array() ? value.first() : JsonValue();
  const JsonValue end = begin ? begin.next() : JsonValue();
  const bool is_pair = end && !end.next() && begin.is_integer() && end.is_integer();
  if (!is_pair || begin.integer() < 0 || end.integer() < begin.integer()) {
    object.wrong_type(value, "a range [begin, end] of whole numbers");
    return {};
  }
  return {begin.integer(), end.integer()};
}

}  // namespace

std::string workload_to_json(const Workload& workload) {
  std::string layers;
  for (const WorkLayer& layer : workload.layers) {
    layers += (layers.empty() ? "\n      " : ",\n      ") + layer_text(layer);
  }
  return fmt::format(
      "{{\"global_batch\": {}, \"samples_per_update\": {}, \"steps\": {}, \"steps_in_flight\": {}, "
      "\"batches_on_device\": {}, \"tensor_ranks\": {},\n    \"optimizer\": {}, "
      "\"learning_rate\": {},\n    \"layers\": [{}]}}",
      workload.global_batch, workload.samples_per_update, workload.steps, workload.steps_in_flight,
      workload.batches_on_device, workload.tensor_ranks, json_quoted(workload.optimizer),
      workload.learning_rate, layers);
}

std::string payload_to_json(const Plan& plan, const Payload& payload) {
  std::string out = "{\"verb\": " + quoted_word(kVerbWords, payload.verb);
  const auto add = [&](bool is_there, std::string_view key, const std::string& value) {
    if (is_there) {
      out += fmt::format(", \"{}\": {}", key, value);
    }
  };
  add(payload.source != Store::kNone, "source", quoted_word(kStoreWords, payload.source));
  add(payload.target != Store::kNone, "target", quoted_word(kStoreWords, payload.target));
  add(payload.layer != 0, "layer", fmt::format("{}", payload.layer));
  add(payload.boundaries != 1, "boundaries", fmt::format("{}", payload.boundaries));
  add(payload.accumulates, "accumulates", "true");
  add(payload.tensor_rank != 0, "tensor_rank", fmt::format("{}", payload.tensor_rank));
  add(payload.versions != 1, "version", fmt::format("[{}, {}]", payload.version, payload.versions));
  if (payload.sender != no_id<DeviceId>()) {
    add(true, "sender", json_quoted(plan.device_name(payload.sender)));
  }
  add(payload.shares != 1, "share", fmt::format("[{}, {}]", payload.share, payload.shares));
  add(payload.samples != CountRange{}, "samples", range_text(payload.samples));
  std::string elements;
  for (const CountRange& range : payload.elements) {
    elements += (elements.empty() ? "" : ", ") + range_text(range);
  }
  add(!payload.elements.empty(), "elements", "[" + elements + "]");
  return out + "}";
}

Workload read_workload(JsonValue value, Diagnostics& diagnostics) {
  JsonObject object(value, "workload", diagnostics);
  Workload workload;
  for (const char* const key : {"global_batch", "steps", "optimizer", "learning_rate", "layers"}) {
    object.require(key);
  }
  workload.global_batch = object.integer("global_batch", 1, kMostNumber).value_or(1);
  workload.samples_per_update =
      object.integer("samples_per_update", 1, kMostNumber).value_or(workload.global_batch);
  workload.steps = object.integer("steps", 1, kMostNumber).value_or(1);
  workload.steps_in_flight = object.integer("steps_in_flight", 1, kMostInFlight).value_or(1);
  workload.batches_on_device = object.integer("batches_on_device", 1, kMostInFlight).value_or(2);
  workload.tensor_ranks = object.integer("tensor_ranks", 1, kMostNumber).value_or(1);
  workload.optimizer = kOptimizerWords[object.one_of("optimizer", kOptimizerWords).value_or(0)];
  workload.learning_rate = object.number("learning_rate").value_or(0);
  if (const JsonValue layers = object.array("layers")) {
    for (JsonValue layer = layers.first(); layer; layer = layer.next()) {
      workload.layers.push_back(read_layer(layer, diagnostics));
    }
  }
  object.finish();
  return workload;
}

Payload read_payload(JsonValue value,
                     const std::function<DeviceId(std::string_view)>& device_named,
                     Diagnostics& diagnostics) {
  JsonObject object(value, "payload", diagnostics);
  Payload payload;
  const auto number = [&](std::string_view key) {
    return static_cast<std::uint32_t>(object.integer(key, 0, kMostNumber).value_or(0));
  };
  object.require("verb");
  payload.verb = static_cast<Verb>(object.one_of("verb", kVerbWords).value_or(0));
  payload.source = static_cast<Store>(object.one_of("source", kStoreWords).value_or(0));
  payload.target = static_cast<Store>(object.one_of("target", kStoreWords).value_or(0));
  payload.layer = number("layer");
  payload.boundaries =
      static_cast<std::uint32_t>(object.integer("boundaries", 1, kMostNumber).value_or(1));
  payload.accumulates = object.boolean("accumulates").value_or(false);
  payload.tensor_rank = number("tensor_rank");
  if (const auto sender = object.string("sender")) {
    payload.sender = device_named(*sender);
  }
  const auto one_of_so_many = [&](std::string_view key, std::uint32_t& one, std::uint32_t& many) {
    if (const JsonValue pair = object.find(key)) {
      const CountRange parts = read_range(object, pair);
      one = static_cast<std::uint32_t>(parts.begin);
      many = static_cast<std::uint32_t>(parts.end);
    }
  };
  one_of_so_many("share", payload.share, payload.shares);
  one_of_so_many("version", payload.version, payload.versions);
  if (const JsonValue samples = object.find("samples")) {
    payload.samples = read_range(object, samples);
  }
  if (const JsonValue elements = object.array("elements")) {
    for (JsonValue range = elements.first(); range; range = range.next()) {
      payload.elements.push_back(read_range(object, range));
    }
  }
  object.finish();
  return payload;
}

}  // namespace twinrun
