#include "core/model/model_builder.h"

#include <utility>

#include "core/base/check.h"

namespace twinrun {

void ModelBuilder::open_block(std::string name) {
  model_.blocks.push_back({std::move(name), model_.layers.size(), 0, 0});
}

std::size_t ModelBuilder::add(Layer layer) {
  TWINRUN_CHECK(!model_.blocks.empty());
  ++model_.blocks.back().layer_count;
  model_.layers.push_back(std::move(layer));
  output_saved_.push_back(false);
  return model_.layers.size() - 1;
}

std::int64_t ModelBuilder::unsaved_output(std::size_t layer) {
  const bool was_saved = output_saved_[layer];
  output_saved_[layer] = true;
  return was_saved ? 0 : model_.layers[layer].outputs;
}

Model ModelBuilder::finish() {
  for (Block& block : model_.blocks) {
    TWINRUN_CHECK(block.layer_count > 0);
    if (block.boundary == 0) {
      block.boundary = model_.layers[block.first_layer + block.layer_count - 1].outputs;
    }
  }
  return std::move(model_);
}

}  // namespace twinrun
