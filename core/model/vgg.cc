#include <array>

#include <fmt/format.h>

#include "core/model/detail/families.h"
#include "core/model/image_net.h"

namespace twinrun {
namespace {

struct VggStage {
  int convolutions = 0;
  std::int64_t channels = 0;
};
constexpr std::array kVgg16Stages = {VggStage{2, 64}, VggStage{2, 128}, VggStage{3, 256},
                                     VggStage{3, 512}, VggStage{3, 512}};
constexpr std::string_view kVgg16Text =
    "VGG-16 without batch norm, images of 224 × 224, 1000 classes";

void vgg_classifier(ImageNet& net) {
  for (const int number : {6, 7}) {
    net.open_block(fmt::format("fc{}", number));
    net.linear(fmt::format("fc{}", number), 4096);
    net.relu(fmt::format("relu{}", number));
    net.dropout(fmt::format("drop{}", number));
  }
  net.open_block("fc8");
  net.linear("fc8", 1000);
  net.loss();
}

Model vgg16() {
  ImageNet net({.name = "vgg16",
                .description = std::string(kVgg16Text),
                .source = "Simonyan and Zisserman, arXiv:1409.1556, configuration D",
                .family = "vgg",
                .inputs = 3L * 224 * 224},
               {3, 224, 224});
  for (std::size_t stage = 0; stage < kVgg16Stages.size(); ++stage) {
    for (int i = 1; i <= kVgg16Stages[stage].convolutions; ++i) {
      const std::string place = fmt::format("{}_{}", stage + 1, i);
      net.open_block("conv" + place);
      net.conv("conv" + place, kVgg16Stages[stage].channels, same_window(3, 3), true);
      net.relu("relu" + place);
    }
    net.max_pool(fmt::format("pool{}", stage + 1), square_window(2, 2, 0));
  }
  vgg_classifier(net);
  return net.finish();
}

std::vector<CatalogueModel> list_vgg() { return {{"vgg16", std::string(kVgg16Text)}}; }

std::optional<Model> build_vgg(std::string_view name, std::int64_t /*sequence*/) {
  return name == "vgg16" ? std::optional(vgg16()) : std::nullopt;
}

}  // namespace

const ModelFamily kVggFamily = {list_vgg, build_vgg};

}  // namespace twinrun
