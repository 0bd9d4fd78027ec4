#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/model/model.h"

namespace twinrun {

// Appends layers and keeps the books: blocks, and which tensors backward reads.
class ModelBuilder {
 public:
  explicit ModelBuilder(Model head) : model_(std::move(head)) {}

  // Layers from here on belong to a block of this name.
  void open_block(std::string name);
  // Needed only when more than the last layer's output crosses the end of the open block.
  void set_boundary(std::int64_t elements) { model_.blocks.back().boundary = elements; }

  std::size_t add(Layer layer);  // its index
  // The backward of some layer reads what this one writes.
  void save_output(std::size_t layer) { model_.layers[layer].saved += unsaved_output(layer); }
  Layer& layer(std::size_t index) { return model_.layers[index]; }  // until the next add
  Model finish();

 private:
  std::int64_t unsaved_output(std::size_t layer);

  Model model_;
  std::vector<bool> output_saved_;
};

}  // namespace twinrun
