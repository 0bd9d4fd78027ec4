#include <fmt/format.h>

#include "core/model/detail/families.h"
#include "core/model/image_net.h"

namespace twinrun {
namespace {

constexpr std::string_view kMlpPrefix = "mlp-";

std::vector<CatalogueModel> list_mlp() {
  return {{"mlp-A-B-C", "linear layers of any widths, ReLU between: mlp-784-256-10"}};
}

std::optional<Model> build_mlp(std::string_view name, std::int64_t /*sequence*/) {
  if (!name.starts_with(kMlpPrefix)) {
    return std::nullopt;
  }
  const auto widths = dashed_numbers(name.substr(kMlpPrefix.size()));
  if (!widths || widths->size() < 2) {
    return std::nullopt;
  }
  ImageNet net({.name = std::string(name),
                .description = fmt::format("perceptron of {} linear layers", widths->size() - 1),
                .source = "by definition",
                .family = "mlp",
                .inputs = widths->front()},
               {widths->front(), 1, 1});
  for (std::size_t i = 1; i < widths->size(); ++i) {
    net.open_block(fmt::format("fc{}", i));
    net.linear(fmt::format("fc{}", i), (*widths)[i]);
    if (i + 1 < widths->size()) {
      net.relu(fmt::format("relu{}", i));
    }
  }
  net.loss();
  return net.finish();
}

}  // namespace

const ModelFamily kMlpFamily = {list_mlp, build_mlp};

}  // namespace twinrun
