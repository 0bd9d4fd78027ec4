#include "core/model/image_net.h"

#include <utility>

#include "core/base/check.h"

namespace twinrun {
namespace {

constexpr std::int64_t kIndexBytes = 8;  // of the winner of a max pool, as PyTorch stores it

Layer simple_layer(std::string name, LayerKind kind, std::int64_t elements) {
  Layer layer;
  layer.name = std::move(name);
  layer.kind = kind;
  layer.inputs = elements;
  layer.outputs = elements;
  return layer;
}

}  // namespace

ImageNet::ImageNet(Model head, Image input) : builder_(std::move(head)), at_(input) {}

// Backward needs the layer's input: it is kept by who wrote it, the sample by its reader.
void ImageNet::reads_input(Layer& reader) {
  if (at_.writer) {
    builder_.save_output(*at_.writer);
  } else {
    reader.saved += at_.elements();
  }
}

void ImageNet::step(Layer layer, Image written) {
  at_ = written;
  at_.writer = builder_.add(std::move(layer));
}

void ImageNet::slide(const Window& window) {
  at_.height = (at_.height + 2 * window.pad_height - window.height) / window.stride + 1;
  at_.width = (at_.width + 2 * window.pad_width - window.width) / window.stride + 1;
  TWINRUN_CHECK(at_.height > 0 && at_.width > 0);
}

void ImageNet::conv(std::string name, std::int64_t channels, Window window, bool bias) {
  Layer layer = simple_layer(std::move(name), LayerKind::kConv, at_.elements());
  reads_input(layer);
  const std::int64_t k = at_.channels * window.height * window.width;
  slide(window);
  layer.gemm = Gemm{at_.height * at_.width, channels, k, 1, window.height * window.width};
  at_.channels = channels;
  layer.parameters.push_back(k * channels);
  if (bias) {
    layer.parameters.push_back(channels);
  }
  layer.outputs = at_.elements();
  layer.forward_flops = 2 * k * layer.outputs;
  step(std::move(layer), at_);
}

void ImageNet::norm(std::string name) {
  Layer layer = simple_layer(std::move(name), LayerKind::kNorm, at_.elements());
  reads_input(layer);
  layer.parameters = {at_.channels, at_.channels};
  layer.buffers = 2 * at_.channels;
  step(std::move(layer), at_);
}

void ImageNet::relu(std::string name) {
  step(simple_layer(std::move(name), LayerKind::kActivation, at_.elements()), at_);
  builder_.save_output(*at_.writer);
}

void ImageNet::conv_norm_relu(const std::string& name, std::int64_t channels, Window window) {
  conv(name + ".conv", channels, window, false);
  norm(name + ".bn");
  relu(name + ".relu");
}

void ImageNet::pool(std::string name, const Window& window, std::int64_t mask_bytes) {
  Layer layer = simple_layer(std::move(name), LayerKind::kPool, at_.elements());
  reads_input(layer);
  slide(window);
  layer.outputs = at_.elements();
  layer.saved_mask_bytes = mask_bytes * layer.outputs;
  step(std::move(layer), at_);
}

void ImageNet::max_pool(std::string name, Window window) {
  pool(std::move(name), window, kIndexBytes);
}

void ImageNet::average_pool(std::string name, Window window) { pool(std::move(name), window, 0); }

void ImageNet::global_pool(std::string name) {
  pool(std::move(name), {at_.height, at_.width, 1, 0, 0}, 0);
}

void ImageNet::dropout(std::string name) {
  Layer layer = simple_layer(std::move(name), LayerKind::kDropout, at_.elements());
  layer.saved_mask_bytes = layer.outputs;
  step(std::move(layer), at_);
}

void ImageNet::add(std::string name, std::int64_t terms) {
  Layer layer = simple_layer(std::move(name), LayerKind::kAdd, at_.elements());
  layer.inputs *= terms;
  step(std::move(layer), at_);
}

void ImageNet::concat(std::string name, const std::vector<Image>& branches) {
  Image joined = branches.front();
  joined.channels = 0;
  for (const Image& branch : branches) {
    TWINRUN_CHECK(branch.height == joined.height && branch.width == joined.width);
    joined.channels += branch.channels;
  }
  step(simple_layer(std::move(name), LayerKind::kConcat, joined.elements()), joined);
}

void ImageNet::linear(std::string name, std::int64_t width) {
  Layer layer = simple_layer(std::move(name), LayerKind::kLinear, at_.elements());
  reads_input(layer);
  layer.parameters = {layer.inputs * width, width};
  layer.outputs = width;
  layer.forward_flops = 2 * layer.inputs * width;
  layer.gemm = Gemm{1, width, layer.inputs};
  step(std::move(layer), {width, 1, 1});
}

// Cross-entropy: keeps the logarithms of the probabilities.
void ImageNet::loss() {
  Layer layer = simple_layer("loss", LayerKind::kLoss, at_.elements());
  layer.outputs = 1;
  layer.saved = layer.inputs;
  step(std::move(layer), {1, 1, 1});
}

}  // namespace twinrun
