#include <algorithm>
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
struct VggRow {
  std::string_view name;
  std::string_view title;
  std::string_view configuration;
  std::array<VggStage, 5> stages;
};
constexpr std::array kVggs = {
    VggRow{"vgg16", "VGG-16", "D", {{{2, 64}, {2, 128}, {3, 256}, {3, 512}, {3, 512}}}},
    VggRow{"vgg19", "VGG-19", "E", {{{2, 64}, {2, 128}, {4, 256}, {4, 512}, {4, 512}}}},
};

std::string vgg_text(const VggRow& row) {
  return fmt::format("{} without batch norm, images of 224 × 224, 1000 classes", row.title);
}

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

Model vgg(const VggRow& row) {
  ImageNet net({.name = std::string(row.name),
                .description = vgg_text(row),
                .source = fmt::format("Simonyan and Zisserman, arXiv:1409.1556, configuration {}",
                                      row.configuration),
                .family = "vgg",
                .inputs = 3L * 224 * 224},
               {3, 224, 224});
  for (std::size_t stage = 0; stage < row.stages.size(); ++stage) {
    for (int i = 1; i <= row.stages[stage].convolutions; ++i) {
      const std::string place = fmt::format("{}_{}", stage + 1, i);
      net.open_block("conv" + place);
      net.conv("conv" + place, row.stages[stage].channels, same_window(3, 3), true);
      net.relu("relu" + place);
    }
    net.max_pool(fmt::format("pool{}", stage + 1), square_window(2, 2, 0));
  }
  vgg_classifier(net);
  return net.finish();
}

std::vector<CatalogueModel> list_vgg() {
  std::vector<CatalogueModel> list;
  list.reserve(kVggs.size());
  for (const VggRow& row : kVggs) {
    list.push_back({std::string(row.name), vgg_text(row)});
  }
  return list;
}

std::optional<Model> build_vgg(std::string_view name, std::int64_t /*sequence*/) {
  const auto* const row =
      std::find_if(kVggs.begin(), kVggs.end(), [&](const VggRow& one) { return one.name == name; });
  return row == kVggs.end() ? std::nullopt : std::optional(vgg(*row));
}

}  // namespace

const ModelFamily kVggFamily = {list_vgg, build_vgg};

}  // namespace twinrun
