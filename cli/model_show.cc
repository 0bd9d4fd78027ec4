#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/model.h"
#include "cli/model_input.h"
#include "core/base/units.h"

namespace twinrun::cli {
namespace {

struct ModelShowOptions {
  std::string model;
  std::int64_t batch = 1;
  std::int64_t sequence = 0;
};

// Equal but for their names, such as the layers of a transformer.
bool are_alike(const Model& model, const Block& a, const Block& b) {
  const auto left = layers_of(model, a);
  const auto right = layers_of(model, b);
  return a.boundary == b.boundary && std::equal(left.begin(), left.end(), right.begin(),
                                                right.end(), [](Layer one, const Layer& other) {
                                                  one.name = other.name;
                                                  return one == other;
                                                });
}

class ModelTables {
 public:
  ModelTables(const Model& model, std::int64_t batch) : model_(model), batch_(batch) {}

  // One row a layer; folded: of blocks that are alike and follow each other only the first, with
  // how often it is there.
  [[nodiscard]] Table layers(bool may_fold) const {
    const auto alike = [&](const Block& a, const Block& b) { return are_alike(model_, a, b); };
    const bool folded = may_fold && std::adjacent_find(model_.blocks.begin(), model_.blocks.end(),
                                                       alike) != model_.blocks.end();
    Table table;
    table.columns = {{"name", "layer"},
                     {"kind"},
                     {"block"},
                     {"parameters", "", Align::kRight},
                     {"forward_flops", "FLOPs", Align::kRight},
                     {"inputs", "", Align::kRight},
                     {"outputs", "", Align::kRight},
                     {"activations", "", Align::kRight},
                     {"mask_bytes", "", Align::kRight, -1, true}};
    if (folded) {
      table.columns.push_back({"times", "", Align::kRight});
    }
    for (std::size_t first = 0; first < model_.blocks.size();) {
      std::size_t end = first + 1;
      while (folded && end < model_.blocks.size() &&
             are_alike(model_, model_.blocks[first], model_.blocks[end])) {
        ++end;
      }
      add_rows(table, model_.blocks[first], folded ? end - first : 0);
      first = end;
    }
    return table;
  }

  [[nodiscard]] Table facts(const LayerTotals& totals) const {
    Table table;
    table.has_header = false;
    table.columns = {{"fact"}, {"value"}};
    const auto add = [&](const char* fact, std::string value) {
      table.rows.push_back({fact, std::move(value)});
    };
    add("parameters", fmt::format("{} in {} tensors", totals.parameters, totals.tensors));
    if (totals.buffers > 0) {
      add("buffers", fmt::format("{} elements, not trained", totals.buffers));
    }
    add("forward", fmt::format("{}FLOP (2 × multiply-accumulate); backward twice as much",
                               with_blank(short_count(scaled(totals.forward_flops)))));
    add("activations", activations_text(totals));
    if (model_.sequence > 0) {
      add("sample", fmt::format("{} tokens", model_.sequence));
    }
    add("blocks", fmt::format("{} of {} layers", model_.blocks.size(), model_.layers.size()));
    add("source", model_.source);
    return table;
  }

 private:
  [[nodiscard]] double scaled(std::int64_t count) const {
    return static_cast<double>(count) * static_cast<double>(batch_);
  }

  static std::string with_blank(const std::string& count) {
    return count.find(' ') == std::string::npos ? count + " " : count;
  }

  [[nodiscard]] std::string activations_text(const LayerTotals& totals) const {
    const std::int64_t masks = totals.saved_mask_bytes * batch_;
    return fmt::format("{} elements kept for backward: {} in fp32, {} in fp16",
                       short_count(scaled(totals.saved)),
                       to_text(Bytes{totals.saved * batch_ * 4 + masks}),
                       to_text(Bytes{totals.saved * batch_ * 2 + masks}));
  }

  [[nodiscard]] Cell cell(std::int64_t count) const {
    return {count * batch_, short_count(scaled(count))};
  }

  void add_rows(Table& table, const Block& block, std::size_t times) const {
    for (const Layer& layer : layers_of(model_, block)) {
      const std::int64_t parameters = parameters_of(layer);
      std::vector<Cell> row = {layer.name,
                               name_of(layer.kind),
                               block.name,
                               {parameters, short_count(static_cast<double>(parameters))},
                               cell(layer.forward_flops),
                               cell(layer.inputs),
                               cell(layer.outputs),
                               cell(layer.saved),
                               layer.saved_mask_bytes * batch_};
      if (times > 0) {
        row.emplace_back(times);
      }
      table.rows.push_back(std::move(row));
    }
  }

  const Model& model_;
  std::int64_t batch_;
};

// Bytes of everything that is shown must fit 64 bits.
void check_batch(const Model& model, const LayerTotals& totals, std::int64_t batch) {
  constexpr double kLargest = 2e18;
  std::int64_t largest =
      std::max({totals.forward_flops, totals.saved, totals.saved_mask_bytes, totals.outputs});
  for (const Layer& layer : model.layers) {
    largest = std::max(largest, layer.inputs);
  }
  if (static_cast<double>(largest) * static_cast<double>(batch) > kLargest) {
    throw UsageError(fmt::format("a batch of {} is too large to count", batch),
                     "a smaller --batch");
  }
}

nlohmann::ordered_json blocks_json(const Model& model, std::int64_t batch) {
  nlohmann::ordered_json blocks = nlohmann::ordered_json::array();
  for (const Block& block : model.blocks) {
    const LayerTotals totals = totals_of(layers_of(model, block));
    blocks.push_back({{"name", block.name},
                      {"layers", block.layer_count},
                      {"parameters", totals.parameters},
                      {"forward_flops", totals.forward_flops * batch},
                      {"activations", totals.saved * batch},
                      {"boundary", block.boundary * batch}});
  }
  return blocks;
}

nlohmann::ordered_json totals_json(const Model& model,
                                   const LayerTotals& totals,
                                   std::int64_t batch) {
  nlohmann::ordered_json json;
  json["name"] = model.name;
  json["description"] = model.description;
  json["family"] = model.family;
  json["source"] = model.source;
  json["batch"] = batch;
  json["sequence"] = model.sequence;
  json["parameters"] = totals.parameters;
  json["tensors"] = totals.tensors;
  json["buffers"] = totals.buffers;
  json["forward_flops"] = totals.forward_flops * batch;
  json["outputs"] = totals.outputs * batch;
  json["activations"] = totals.saved * batch;
  json["mask_bytes"] = totals.saved_mask_bytes * batch;
  return json;
}

Output show_model(Context& context, const ModelShowOptions& options) {
  const Model model = load_model(context, options.model, options.sequence);
  const LayerTotals totals = totals_of(model.layers);
  check_batch(model, totals, options.batch);
  const ModelTables tables(model, options.batch);
  Output output;
  output.rows_key = "layers";
  output.text =
      fmt::format("{}{}{}, batch of {}\n", model.name, model.description.empty() ? "" : ": ",
                  model.description, options.batch);
  output.json = totals_json(model, totals, options.batch);
  output.json["blocks"] = blocks_json(model, options.batch);
  output.json["layers"] = to_json(tables.layers(false));
  if (context.format() == Format::kTable) {
    output.tables = {tables.facts(totals), tables.layers(true)};
  } else {
    output.tables = {tables.layers(false)};
  }
  return output;
}

}  // namespace

Run add_model_show(CLI::App& app) {
  const auto options = std::make_shared<ModelShowOptions>();
  app.add_option("model", options->model, "a name, a file or -")->required()->type_name("MODEL");
  app.add_option("--batch", options->batch, "samples that are computed together")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}))
      ->type_name("N");
  app.add_option("--seq", options->sequence, "tokens of a sample; default: as many as usual")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}))
      ->type_name("N");
  return [options](Context& context) { return show_model(context, *options); };
}

}  // namespace twinrun::cli
