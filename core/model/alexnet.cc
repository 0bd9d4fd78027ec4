#include "core/model/detail/families.h"
#include "core/model/image_net.h"

namespace twinrun {
namespace {

constexpr std::string_view kAlexNetText = "AlexNet, images of 224 × 224, 1000 classes";

Model alexnet() {
  ImageNet net({.name = "alexnet",
                .description = std::string(kAlexNetText),
                .source = "torchvision's variant (one column, no local response norm)",
                .family = "alexnet",
                .inputs = 3L * 224 * 224},
               {3, 224, 224});
  const Window pool = square_window(3, 2, 0);
  net.open_block("conv1");
  net.conv("conv1", 64, square_window(11, 4, 2), true);
  net.relu("relu1");
  net.max_pool("pool1", pool);
  net.open_block("conv2");
  net.conv("conv2", 192, same_window(5, 5), true);
  net.relu("relu2");
  net.max_pool("pool2", pool);
  net.open_block("conv3");
  net.conv("conv3", 384, same_window(3, 3), true);
  net.relu("relu3");
  net.open_block("conv4");
  net.conv("conv4", 256, same_window(3, 3), true);
  net.relu("relu4");
  net.open_block("conv5");
  net.conv("conv5", 256, same_window(3, 3), true);
  net.relu("relu5");
  net.max_pool("pool5", pool);
  net.open_block("fc6");
  net.dropout("drop6");
  net.linear("fc6", 4096);
  net.relu("relu6");
  net.open_block("fc7");
  net.dropout("drop7");
  net.linear("fc7", 4096);
  net.relu("relu7");
  net.open_block("fc8");
  net.linear("fc8", 1000);
  net.loss();
  return net.finish();
}

std::vector<CatalogueModel> list_alexnet() { return {{"alexnet", std::string(kAlexNetText)}}; }

std::optional<Model> build_alexnet(std::string_view name, std::int64_t /*sequence*/) {
  return name == "alexnet" ? std::optional(alexnet()) : std::nullopt;
}

}  // namespace

const ModelFamily kAlexNetFamily = {list_alexnet, build_alexnet};

}  // namespace twinrun
