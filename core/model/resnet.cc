#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/model/detail/families.h"
#include "core/model/image_net.h"

namespace twinrun {
namespace {

struct ResNetRow {
  std::string_view name;
  std::string_view title;
  std::array<int, 4> blocks;  // of each stage
  bool has_bottlenecks = true;
};
constexpr std::array kResNets = {
    ResNetRow{"resnet18", "ResNet-18", {2, 2, 2, 2}, false},
    ResNetRow{"resnet34", "ResNet-34", {3, 4, 6, 3}, false},
    ResNetRow{"resnet50", "ResNet-50", {3, 4, 6, 3}},
    ResNetRow{"resnet101", "ResNet-101", {3, 4, 23, 3}},
    ResNetRow{"resnet152", "ResNet-152", {3, 8, 36, 3}},
    ResNetRow{"resnet200", "ResNet-200", {3, 24, 36, 3}},
};

std::string resnet_text(const ResNetRow& row) {
  return fmt::format("{}{}, images of 224 × 224, 1000 classes", row.title,
                     row.has_bottlenecks ? " v1.5" : "");
}

// What goes around the convolutions, and the sum.
void shortcut(ImageNet& net, const std::string& name, const Image& input, std::int64_t stride) {
  const std::int64_t channels = net.at().channels;
  if (stride != 1 || input.channels != channels) {
    net.go_to(input);
    net.conv(name + ".downsample", channels, square_window(1, stride, 0), false);
    net.norm(name + ".downsample_bn");
  }
  net.add(name + ".add", 2);
}

// Two of 3 × 3, and the way around.
void basic_block(ImageNet& net, const std::string& name, std::int64_t width, std::int64_t stride) {
  const Image input = net.at();
  net.open_block(name);
  net.conv(name + ".conv1", width, same_window(3, 3, stride), false);
  net.norm(name + ".bn1");
  net.relu(name + ".relu1");
  net.conv(name + ".conv2", width, same_window(3, 3), false);
  net.norm(name + ".bn2");
  shortcut(net, name, input, stride);
  net.relu(name + ".relu2");
}

// 1 × 1, 3 × 3 with the stride (v1.5), 1 × 1 to four times the width, and the way around.
void bottleneck(ImageNet& net, const std::string& name, std::int64_t width, std::int64_t stride) {
  const Image input = net.at();
  net.open_block(name);
  net.conv(name + ".conv1", width, {}, false);
  net.norm(name + ".bn1");
  net.relu(name + ".relu1");
  net.conv(name + ".conv2", width, same_window(3, 3, stride), false);
  net.norm(name + ".bn2");
  net.relu(name + ".relu2");
  net.conv(name + ".conv3", 4 * width, {}, false);
  net.norm(name + ".bn3");
  shortcut(net, name, input, stride);
  net.relu(name + ".relu3");
}

Model resnet(const ResNetRow& row) {
  ImageNet net({.name = std::string(row.name),
                .description = resnet_text(row),
                .source = "He et al., arXiv:1512.03385; strides and names as in torchvision",
                .family = "resnet",
                .inputs = 3L * 224 * 224},
               {3, 224, 224});
  net.open_block("stem");
  net.conv("conv1", 64, square_window(7, 2, 3), false);
  net.norm("bn1");
  net.relu("relu1");
  net.max_pool("pool1", square_window(3, 2, 1));
  for (std::size_t stage = 0; stage < row.blocks.size(); ++stage) {
    for (int i = 0; i < row.blocks[stage]; ++i) {
      const auto block = row.has_bottlenecks ? bottleneck : basic_block;
      block(net, fmt::format("layer{}.{}", stage + 1, i), std::int64_t{64} << stage,
            i == 0 && stage > 0 ? 2 : 1);
    }
  }
  net.open_block("fc");
  net.global_pool("avgpool");
  net.linear("fc", 1000);
  net.loss();
  return net.finish();
}

std::vector<CatalogueModel> list_resnets() {
  std::vector<CatalogueModel> list;
  list.reserve(kResNets.size());
  for (const ResNetRow& row : kResNets) {
    list.push_back({std::string(row.name), resnet_text(row)});
  }
  return list;
}

std::optional<Model> build_resnet(std::string_view name, std::int64_t /*sequence*/) {
  const auto* row = std::find_if(kResNets.begin(), kResNets.end(),
                                 [&](const ResNetRow& one) { return one.name == name; });
  return row == kResNets.end() ? std::nullopt : std::optional(resnet(*row));
}

}  // namespace

const ModelFamily kResNetFamily = {list_resnets, build_resnet};

}  // namespace twinrun
