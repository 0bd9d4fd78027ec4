#include "core/io/load_model.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/did_you_mean.h"
#include "core/io/huggingface.h"
#include "core/io/json_object.h"
#include "core/io/transformer_keys.h"
#include "core/model/catalogue.h"
#include "core/model/transformer.h"

namespace twinrun {
namespace {

// Of one layer; the sums over all layers are checked by themselves.
constexpr std::int64_t kLargestLayerCount = 1'000'000'000'000'000'000;
constexpr double kLargestModelCount = 4e18;

std::optional<Gemm> read_gemm(JsonObject& layer, Diagnostics& diagnostics) {
  const JsonValue value = layer.object("gemm");
  if (!value) {
    return std::nullopt;
  }
  JsonObject object(value, "gemm", diagnostics);
  Gemm gemm;
  for (const auto& [key, target] :
       {std::pair{"m", &Gemm::m}, std::pair{"n", &Gemm::n}, std::pair{"k", &Gemm::k}}) {
    object.require(key);
    gemm.*target = object.integer(key, 1, kLargestLayerCount).value_or(1);
  }
  gemm.count = object.integer("count", 1, kLargestLayerCount).value_or(1);
  gemm.taps = object.integer("taps", 1, kLargestLayerCount).value_or(1);
  object.finish();
  return gemm;
}

// A number, or a list with one for each tensor.
std::vector<std::int64_t> read_parameters(JsonObject& layer, Diagnostics& diagnostics) {
  std::vector<std::int64_t> tensors;
  const JsonValue value = layer.find("parameters");
  if (value && !value.is_array()) {
    const std::int64_t count = layer.integer("parameters", 0, kLargestLayerCount).value_or(0);
    if (count > 0) {
      tensors.push_back(count);
    }
    return tensors;
  }
  for (JsonValue one = value.first(); one; one = one.next()) {
    if (!one.is_integer()) {
      layer.wrong_type(one, "the elements of a tensor as a whole number");
    } else if (one.integer() < 1 || one.integer() > kLargestLayerCount) {
      diagnostics.error("E0203", one.place(),
                        fmt::format("a tensor must have 1 … {} elements, has {}",
                                    kLargestLayerCount, one.integer()));
    } else {
      tensors.push_back(one.integer());
    }
  }
  return tensors;
}

class LayerReader {
 public:
  LayerReader(Model& model, Diagnostics& diagnostics) : model_(model), diagnostics_(diagnostics) {}

  void read(JsonValue value) {
    JsonObject object(value, "layer", diagnostics_);
    Layer layer;
    object.require("name");
    layer.name = object.string("name").value_or("");
    layer.kind = static_cast<LayerKind>(object.one_of("kind", kLayerKindNames)
                                            .value_or(static_cast<std::size_t>(LayerKind::kOther)));
    layer.parameters = read_parameters(object, diagnostics_);
    object.require("outputs");
    layer.outputs = count(object, "outputs").value_or(0);
    layer.inputs = count(object, "inputs").value_or(last_outputs());
    layer.buffers = count(object, "buffers").value_or(0);
    layer.forward_flops = count(object, "forward_flops").value_or(0);
    layer.saved = count(object, "activations").value_or(layer.outputs);
    layer.saved_mask_bytes = count(object, "mask_bytes").value_or(0);
    layer.gemm = read_gemm(object, diagnostics_);
    layer.tied_to = read_tied(object);
    if (!layer.name.empty() && !names_.emplace(layer.name, model_.layers.size()).second) {
      diagnostics_.error("E0503", object.place_of("name"),
                         fmt::format("there are two layers {}", quoted_for_people(layer.name)));
    }
    put_in_block(object.string("block").value_or(layer.name), object);
    if (const auto boundary = count(object, "boundary")) {
      model_.blocks.back().boundary = *boundary;
    } else {
      model_.blocks.back().boundary = layer.outputs;
    }
    object.finish();
    model_.layers.push_back(std::move(layer));
  }

 private:
  static std::optional<std::int64_t> count(JsonObject& object, std::string_view key) {
    return object.integer(key, 0, kLargestLayerCount);
  }

  [[nodiscard]] std::int64_t last_outputs() const {
    return model_.layers.empty() ? model_.inputs : model_.layers.back().outputs;
  }

  std::optional<std::size_t> read_tied(JsonObject& object) {
    const std::optional<std::string> name = object.string("tied_to");
    if (!name) {
      return std::nullopt;
    }
    const auto found = names_.find(*name);
    if (found != names_.end() && !model_.layers[found->second].parameters.empty()) {
      return found->second;
    }
    diagnostics_.error(
        "E0504", object.place_of("tied_to"),
        fmt::format("there is no earlier layer {} with parameters", quoted_for_people(*name)));
    return std::nullopt;
  }

  void put_in_block(const std::string& name, const JsonObject& object) {
    if (model_.blocks.empty() || model_.blocks.back().name != name) {
      if (!block_names_.emplace(name, 0).second) {
        diagnostics_.error("E0506", object.place_of("block"),
                           fmt::format("block {} has ended above", quoted_for_people(name)),
                           "move the layers of a block together");
      }
      model_.blocks.push_back({name, model_.layers.size(), 0, 0});
    }
    ++model_.blocks.back().layer_count;
  }

  Model& model_;
  Diagnostics& diagnostics_;
  std::map<std::string, std::size_t> names_;
  std::map<std::string, int> block_names_;
};

void check_sums(const Model& model, const Place& place, Diagnostics& diagnostics) {
  std::array<double, 6> sums = {};
  for (const Layer& layer : model.layers) {
    double parameters = 0;
    for (const std::int64_t tensor : layer.parameters) {
      parameters += static_cast<double>(tensor);
    }
    const std::array<double, 6> counts = {parameters,
                                          static_cast<double>(layer.buffers),
                                          static_cast<double>(layer.forward_flops),
                                          static_cast<double>(layer.outputs),
                                          static_cast<double>(layer.saved),
                                          static_cast<double>(layer.saved_mask_bytes)};
    for (std::size_t i = 0; i < sums.size(); ++i) {
      sums[i] += counts[i];
    }
  }
  if (*std::max_element(sums.begin(), sums.end()) > kLargestModelCount) {
    diagnostics.error("E0505", place, "the layers of the model add up to more than 4e18");
  }
}

TransformerShape read_shape(JsonValue value, Diagnostics& diagnostics) {
  JsonObject object(value, "transformer", diagnostics);
  TransformerShape shape;
  for (std::size_t i = 0; i < kTransformerNumbers.size(); ++i) {
    const TransformerNumber& number = kTransformerNumbers[i];
    if (i < kRequiredTransformerNumbers) {
      object.require(number.key);
    }
    if (const auto given = object.integer(number.key, number.least, number.most)) {
      shape.*number.member = *given;
    }
  }
  for (const TransformerFlag& flag : kTransformerFlags) {
    if (const auto given = object.boolean(flag.key)) {
      shape.*flag.member = *given;
    }
  }
  object.finish();
  return shape;
}

void read_contents(JsonObject& object, Model& model, std::int64_t sequence) {
  Diagnostics& diagnostics = object.diagnostics();
  const JsonValue layers = object.array("layers");
  const JsonValue transformer = object.object("transformer");
  const bool has_layers = layers && layers.first();
  if (object.value().is_object() && has_layers == static_cast<bool>(transformer)) {
    diagnostics.error("E0502", object.place(),
                      has_layers ? "a model has both \"layers\" and \"transformer\""
                                 : "a model has neither \"layers\" nor \"transformer\"");
    return;
  }
  if (transformer) {
    const TransformerShape shape = read_shape(transformer, diagnostics);
    if (!diagnostics.has_errors() &&
        check_transformer(shape, sequence, transformer.place(), diagnostics)) {
      model = build_transformer(std::move(model), shape, sequence);
    }
    return;
  }
  LayerReader reader(model, diagnostics);
  for (JsonValue layer = layers.first(); layer; layer = layer.next()) {
    reader.read(layer);
  }
  check_sums(model, layers.place(), diagnostics);
}

void warn_about_positions(const TransformerShape& shape,
                          std::int64_t sequence,
                          const Place& place,
                          Diagnostics& diagnostics) {
  if (shape.positions > 0 && sequence > shape.positions) {
    diagnostics.warning("W0503", place,
                        fmt::format("{} tokens are more than the {} positions of the model",
                                    sequence, shape.positions));
  }
}

Model read_model_source(const Source& source, std::int64_t sequence, Diagnostics& diagnostics) {
  const JsonDocument document = JsonDocument::read(source, diagnostics);
  return read_model(document.root(), sequence, diagnostics);
}

void unknown_model(const std::string& name, std::int64_t sequence, Diagnostics& diagnostics) {
  if (sequence > 0 && catalogue_model(name)) {
    diagnostics.error(
        "E0505", {},
        fmt::format("{} for samples of {} tokens is too large to count", name, sequence),
        "a shorter --seq");
    return;
  }
  std::vector<std::string> names;
  for (const CatalogueModel& entry : catalogue_models()) {
    names.push_back(entry.name);
  }
  diagnostics.error(
      "E0501", {},
      fmt::format("there is no model \"{}\", neither in the catalogue nor as a file", name),
      did_you_mean(name, names));
}

}  // namespace

bool check_transformer(const TransformerShape& shape,
                       std::int64_t sequence,
                       const Place& place,
                       Diagnostics& diagnostics) {
  constexpr std::int64_t kMostLayers = 10'000;
  const std::int64_t kv_heads = shape.kv_heads > 0 ? shape.kv_heads : shape.heads;
  if (shape.head_dim == 0 && shape.hidden % shape.heads != 0) {
    diagnostics.error(
        "E0508", place,
        fmt::format("{} heads do not divide a hidden size of {}", shape.heads, shape.hidden));
    return false;
  }
  if (shape.heads % kv_heads != 0) {
    diagnostics.error(
        "E0508", place,
        fmt::format("{} key-value heads do not divide {} heads", kv_heads, shape.heads));
    return false;
  }
  if (sequence == 0 && shape.sequence == 0 && shape.positions == 0) {
    diagnostics.error("E0201", place, "the transformer has no \"sequence\"",
                      "add \"sequence\": the tokens of a sample");
    return false;
  }
  if (shape.layers > kMostLayers || !counts_fit(shape, sequence)) {
    diagnostics.error("E0505", place,
                      "the FLOPs of one sample leave 64 bits, or there are over 10000 layers");
    return false;
  }
  warn_about_positions(shape, sequence, place, diagnostics);
  return true;
}

Model read_model(JsonValue root, std::int64_t sequence, Diagnostics& diagnostics) {
  constexpr std::string_view kSchema = "twinrun/model/1";
  if (!root) {
    return {};
  }
  if (is_huggingface(root)) {
    return read_huggingface(root, sequence, diagnostics);
  }
  JsonObject object(root, "model", diagnostics);
  if (const auto schema = object.string("schema"); schema && *schema != kSchema) {
    diagnostics.error("E0207", object.place_of("schema"),
                      fmt::format("this is {}, not a model", json_quoted(*schema)),
                      fmt::format("a model says \"schema\": \"{}\"", kSchema));
  }
  Model model;
  model.name = object.string("name").value_or("");
  model.description = object.string("description").value_or("");
  model.source = object.string("source").value_or("");
  model.family = object.string("family").value_or("custom");
  model.inputs = object.integer("inputs", 0, kLargestLayerCount).value_or(0);
  read_contents(object, model, sequence);
  object.finish();
  return model;
}

Model read_model_argument(const std::string& argument,
                          std::int64_t sequence,
                          Diagnostics& diagnostics) {
  if (std::optional<Model> known = catalogue_model(argument, sequence)) {
    if (known->transformer) {
      warn_about_positions(*known->transformer, sequence, {}, diagnostics);
    }
    return *std::move(known);
  }
  std::error_code unreadable;  // a name too long for a file is no file
  const bool looks_like_file = argument == "-" || argument.find('/') != std::string::npos ||
                               argument.ends_with(".json") ||
                               std::filesystem::exists(argument, unreadable);
  if (!looks_like_file) {
    unknown_model(argument, sequence, diagnostics);
    return {};
  }
  Model model = read_model_source(Source::of_argument(argument), sequence, diagnostics);
  if (model.name.empty()) {
    model.name = argument;
  }
  return model;
}

}  // namespace twinrun
