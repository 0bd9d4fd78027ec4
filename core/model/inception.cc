#include <array>
#include <initializer_list>

#include <fmt/format.h>

#include "core/model/detail/families.h"
#include "core/model/image_net.h"

namespace twinrun {
namespace {

constexpr std::string_view kInceptionText =
    "Inception-v3 without auxiliary classifier, images of 299 × 299, 1000 classes";

struct Unit {  // convolution, norm, ReLU
  std::int64_t channels = 0;
  Window window;
};

// A module: branches from one input, then side by side.
class InceptionModule {
 public:
  InceptionModule(ImageNet& net, std::string name)
      : net_(net), name_(std::move(name)), input_(net.at()) {
    net_.open_block(name_);
  }

  // Units one after the other; the image after them.
  Image units(std::string_view branch, std::initializer_list<Unit> units) {
    int number = 1;
    for (const Unit& unit : units) {
      net_.conv_norm_relu(fmt::format("{}.{}_{}", name_, branch, number++), unit.channels,
                          unit.window);
    }
    return net_.at();
  }

  void branch(std::string_view name, std::initializer_list<Unit> list) {
    net_.go_to(input_);
    branches_.push_back(units(name, list));
  }

  // The last unit twice beside each other, 1 × 3 and 3 × 1.
  void forked_branch(std::string_view name, std::initializer_list<Unit> list) {
    net_.go_to(input_);
    const Image fork = units(name, list);
    branches_.push_back(units(fmt::format("{}a", name), {{384, same_window(1, 3)}}));
    net_.go_to(fork);
    branches_.push_back(units(fmt::format("{}b", name), {{384, same_window(3, 1)}}));
  }

  void pooled_branch(std::int64_t channels) {
    net_.go_to(input_);
    net_.average_pool(name_ + ".pool", same_window(3, 3));
    branches_.push_back(units("pool", {{channels, {}}}));
  }

  void max_pooled_branch() {
    net_.go_to(input_);
    net_.max_pool(name_ + ".pool", square_window(3, 2, 0));
    branches_.push_back(net_.at());
  }

  void join() { net_.concat(name_ + ".concat", branches_); }

 private:
  ImageNet& net_;
  std::string name_;
  Image input_;
  std::vector<Image> branches_;
};

void inception_stem(ImageNet& net) {
  net.open_block("stem");
  net.conv_norm_relu("1a", 32, square_window(3, 2, 0));
  net.conv_norm_relu("2a", 32, square_window(3, 1, 0));
  net.conv_norm_relu("2b", 64, same_window(3, 3));
  net.max_pool("pool1", square_window(3, 2, 0));
  net.conv_norm_relu("3b", 80, {});
  net.conv_norm_relu("4a", 192, square_window(3, 1, 0));
  net.max_pool("pool2", square_window(3, 2, 0));
}

void mixed_5(ImageNet& net, std::string name, std::int64_t pooled) {
  InceptionModule module(net, std::move(name));
  module.branch("1x1", {{64, {}}});
  module.branch("5x5", {{48, {}}, {64, same_window(5, 5)}});
  module.branch("3x3dbl", {{64, {}}, {96, same_window(3, 3)}, {96, same_window(3, 3)}});
  module.pooled_branch(pooled);
  module.join();
}

void mixed_6a(ImageNet& net) {
  InceptionModule module(net, "Mixed_6a");
  module.branch("3x3", {{384, square_window(3, 2, 0)}});
  module.branch("3x3dbl", {{64, {}}, {96, same_window(3, 3)}, {96, square_window(3, 2, 0)}});
  module.max_pooled_branch();
  module.join();
}

void mixed_6(ImageNet& net, std::string name, std::int64_t width) {
  const Window row = same_window(1, 7);
  const Window column = same_window(7, 1);
  InceptionModule module(net, std::move(name));
  module.branch("1x1", {{192, {}}});
  module.branch("7x7", {{width, {}}, {width, row}, {192, column}});
  module.branch("7x7dbl",
                {{width, {}}, {width, column}, {width, row}, {width, column}, {192, row}});
  module.pooled_branch(192);
  module.join();
}

void mixed_7a(ImageNet& net) {
  InceptionModule module(net, "Mixed_7a");
  module.branch("3x3", {{192, {}}, {320, square_window(3, 2, 0)}});
  module.branch("7x7x3", {{192, {}},
                          {192, same_window(1, 7)},
                          {192, same_window(7, 1)},
                          {192, square_window(3, 2, 0)}});
  module.max_pooled_branch();
  module.join();
}

void mixed_7(ImageNet& net, std::string name) {
  InceptionModule module(net, std::move(name));
  module.branch("1x1", {{320, {}}});
  module.forked_branch("3x3", {{384, {}}});
  module.forked_branch("3x3dbl", {{448, {}}, {384, same_window(3, 3)}});
  module.pooled_branch(192);
  module.join();
}

Model inception_v3() {
  ImageNet net({.name = "inception-v3",
                .description = std::string(kInceptionText),
                .source = "Szegedy et al., arXiv:1512.00567; widths and names as in torchvision",
                .family = "inception",
                .inputs = 3L * 299 * 299},
               {3, 299, 299});
  inception_stem(net);
  mixed_5(net, "Mixed_5b", 32);
  mixed_5(net, "Mixed_5c", 64);
  mixed_5(net, "Mixed_5d", 64);
  mixed_6a(net);
  mixed_6(net, "Mixed_6b", 128);
  mixed_6(net, "Mixed_6c", 160);
  mixed_6(net, "Mixed_6d", 160);
  mixed_6(net, "Mixed_6e", 192);
  mixed_7a(net);
  mixed_7(net, "Mixed_7b");
  mixed_7(net, "Mixed_7c");
  net.open_block("fc");
  net.global_pool("avgpool");
  net.dropout("dropout");
  net.linear("fc", 1000);
  net.loss();
  return net.finish();
}

std::vector<CatalogueModel> list_inception() {
  return {{"inception-v3", std::string(kInceptionText)}};
}

std::optional<Model> build_inception(std::string_view name, std::int64_t /*sequence*/) {
  return name == "inception-v3" ? std::optional(inception_v3()) : std::nullopt;
}

}  // namespace

const ModelFamily kInceptionFamily = {list_inception, build_inception};

}  // namespace twinrun
