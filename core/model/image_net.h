#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/model/model_builder.h"

namespace twinrun {

// The size of an image inside a network, and the layer that wrote it (none: the sample itself).
struct Image {
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::optional<std::size_t> writer = {};
  [[nodiscard]] std::int64_t elements() const { return channels * height * width; }
};

struct Window {
  std::int64_t height = 1;
  std::int64_t width = 1;
  std::int64_t stride = 1;
  std::int64_t pad_height = 0;
  std::int64_t pad_width = 0;
};
// The output of the window is as large as its input, but for the stride.
constexpr Window same_window(std::int64_t height, std::int64_t width, std::int64_t stride = 1) {
  return {height, width, stride, height / 2, width / 2};
}
constexpr Window square_window(std::int64_t size, std::int64_t stride, std::int64_t pad) {
  return {size, size, stride, pad, pad};
}

// Layers of a convolutional network one after the other; at() and go_to() leave and resume a
// branch. PyTorch's conventions: norms have two tensors and two statistics a channel, activations
// work in place.
class ImageNet {
 public:
  ImageNet(Model head, Image input);

  void open_block(std::string name) { builder_.open_block(std::move(name)); }
  [[nodiscard]] const Image& at() const { return at_; }
  void go_to(const Image& image) { at_ = image; }

  void conv(std::string name, std::int64_t channels, Window window, bool bias);
  void norm(std::string name);
  void relu(std::string name);
  void conv_norm_relu(const std::string& name, std::int64_t channels, Window window);
  void max_pool(std::string name, Window window);
  void average_pool(std::string name, Window window);
  void global_pool(std::string name);
  void dropout(std::string name);
  void add(std::string name, std::int64_t terms);  // of that many images like the present one
  void concat(std::string name, const std::vector<Image>& branches);
  void linear(std::string name, std::int64_t width);
  void loss();

  void set_boundary(std::int64_t elements) { builder_.set_boundary(elements); }
  Model finish() { return builder_.finish(); }

 private:
  void reads_input(Layer& reader);
  void step(Layer layer, Image written);
  void slide(const Window& window);
  void pool(std::string name, const Window& window, std::int64_t mask_bytes);

  ModelBuilder builder_;
  Image at_;
};

}  // namespace twinrun
