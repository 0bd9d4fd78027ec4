#include "core/io/save_model.h"

#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/io/transformer_keys.h"

namespace twinrun {
namespace {

using Json = nlohmann::ordered_json;

void put_count(Json& json, const char* key, std::int64_t count, std::int64_t usual = 0) {
  if (count != usual) {
    json[key] = count;
  }
}

Json layer_json(const Model& model, const Layer& layer, std::int64_t inputs_before) {
  Json json{{"name", layer.name}, {"kind", name_of(layer.kind)}};
  if (!layer.parameters.empty()) {
    json["parameters"] = layer.parameters;
  }
  put_count(json, "buffers", layer.buffers);
  put_count(json, "forward_flops", layer.forward_flops);
  put_count(json, "inputs", layer.inputs, inputs_before);
  json["outputs"] = layer.outputs;
  put_count(json, "activations", layer.saved, layer.outputs);
  put_count(json, "mask_bytes", layer.saved_mask_bytes);
  if (layer.gemm) {
    json["gemm"] = {{"m", layer.gemm->m}, {"n", layer.gemm->n}, {"k", layer.gemm->k}};
    put_count(json["gemm"], "count", layer.gemm->count, 1);
    put_count(json["gemm"], "taps", layer.gemm->taps, 1);
  }
  if (layer.tied_to) {
    json["tied_to"] = model.layers[*layer.tied_to].name;
  }
  return json;
}

// One layer a line.
std::string layers_text(const Model& model) {
  std::string text;
  std::int64_t inputs = model.inputs;
  for (const Block& block : model.blocks) {
    for (const Layer& layer : layers_of(model, block)) {
      Json json = layer_json(model, layer, inputs);
      inputs = layer.outputs;
      if (block.name != layer.name || block.layer_count > 1) {
        json["block"] = block.name;
      }
      const bool is_last = &layer == &layers_of(model, block).back();
      if (is_last && block.boundary != layer.outputs) {
        json["boundary"] = block.boundary;
      }
      text += fmt::format("{}\n    {}", text.empty() ? "" : ",", json.dump());
    }
  }
  return fmt::format("\"layers\": [{}\n  ]", text);
}

std::string shape_text(const TransformerShape& shape) {
  const TransformerShape usual;
  Json json;
  for (const TransformerNumber& number : kTransformerNumbers) {
    put_count(json, number.key.data(), shape.*number.member);
  }
  for (const TransformerFlag& flag : kTransformerFlags) {
    if (shape.*flag.member != usual.*flag.member) {
      json[flag.key.data()] = shape.*flag.member;
    }
  }
  return fmt::format("\"transformer\": {}", json.dump());
}

}  // namespace

std::string save_model(const Model& model) {
  std::string text = "{\n  \"schema\": \"twinrun/model/1\",\n";
  for (const auto& [key, value] :
       {std::pair{"name", &model.name}, std::pair{"description", &model.description},
        std::pair{"source", &model.source}, std::pair{"family", &model.family}}) {
    if (!value->empty()) {
      text += fmt::format("  \"{}\": {},\n", key,
                          Json(*value).dump(-1, ' ', false, Json::error_handler_t::replace));
    }
  }
  if (model.transformer) {
    return text + fmt::format("  {}\n}}\n", shape_text(*model.transformer));
  }
  text += fmt::format("  \"inputs\": {},\n", model.inputs);
  return text + fmt::format("  {}\n}}\n", layers_text(model));
}

}  // namespace twinrun
