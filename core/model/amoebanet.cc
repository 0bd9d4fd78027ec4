#include <array>

#include <fmt/format.h>

#include "core/model/detail/families.h"
#include "core/model/image_net.h"

namespace twinrun {
namespace {

constexpr std::string_view kAmoebaPrefix = "amoebanet-d-";

// AmoebaNet-D of Real et al. (arXiv:1802.01548) in the sizes (L, D) of the GPipe paper: a stem, two
// cells that halve the image, then three times L/3 normal cells with a halving cell between. The
// cells are the published genotype; how a paper's D maps to widths is not published in full. We
// take D/4 channels in the stem, doubled by each halving cell, and separable 7 × 7 and 3 × 3
// operations through a quarter of the width. That meets the published numbers of parameters in
// every figure printed (tests/core/model); activations are an approximation.
enum class CellOp { kNone, kConv1x1, kConv3x3, kConv1x7, kMax2, kMax3, kAverage3 };
struct CellInput {
  int state = 0;  // 0: the last cell's output, 1: the one before, 2 …: sums of this cell
  CellOp op = CellOp::kNone;
};
using CellPlan = std::array<std::array<CellInput, 2>, 5>;  // each row is a sum
constexpr CellPlan kNormalCell = {{
    {{{1, CellOp::kConv1x1}, {1, CellOp::kMax3}}},
    {{{1, CellOp::kNone}, {0, CellOp::kConv1x7}}},
    {{{0, CellOp::kConv1x1}, {0, CellOp::kConv1x7}}},
    {{{2, CellOp::kMax3}, {2, CellOp::kNone}}},
    {{{1, CellOp::kAverage3}, {5, CellOp::kConv1x1}}},
}};
constexpr CellPlan kHalvingCell = {{
    {{{0, CellOp::kMax2}, {0, CellOp::kMax3}}},
    {{{2, CellOp::kNone}, {1, CellOp::kConv3x3}}},
    {{{2, CellOp::kConv1x7}, {2, CellOp::kMax3}}},
    {{{3, CellOp::kNone}, {1, CellOp::kMax2}}},
    {{{2, CellOp::kAverage3}, {3, CellOp::kConv1x1}}},
}};

class AmoebaCells {
 public:
  AmoebaCells(ImageNet& net, std::int64_t channels)
      : net_(net), channels_(channels), last_(net.at()), before_(net.at()) {}

  void normal(std::string name) { cell(std::move(name), kNormalCell, {0, 3, 4, 6}, 1); }
  void halving(std::string name) {
    channels_ *= 2;
    cell(std::move(name), kHalvingCell, {4, 5, 6}, 2);
  }

 private:
  void cell(std::string name,
            const CellPlan& plan,
            const std::vector<std::size_t>& joined,
            std::int64_t stride) {
    name_ = std::move(name);
    net_.open_block(name_);
    const Image skip = before_;
    std::vector<Image> states = {project(last_, "in0", 1),
                                 project(skip, "in1", skip.height / last_.height)};
    for (std::size_t sum = 0; sum < plan.size(); ++sum) {
      int term = 0;
      for (const CellInput& input : plan[sum]) {
        net_.go_to(states[static_cast<std::size_t>(input.state)]);
        apply(fmt::format("{}.{}{}", name_, sum, term++ == 0 ? 'a' : 'b'), input.op,
              input.state < 2 ? stride : 1);
      }
      net_.add(fmt::format("{}.{}", name_, sum), 2);
      states.push_back(net_.at());
    }
    std::vector<Image> branches;
    branches.reserve(joined.size());
    for (const std::size_t state : joined) {
      branches.push_back(states[state]);
    }
    net_.concat(name_ + ".concat", branches);
    before_ = last_;
    last_ = net_.at();
    net_.set_boundary(last_.elements() + before_.elements());
  }

  // To the width of the cell; the older input may have to be halved as well (two convolutions of
  // half the width in truth, with the same number of parameters).
  Image project(const Image& image, std::string_view input, std::int64_t stride) {
    net_.go_to(image);
    if (stride > 1 || image.channels != channels_) {
      unit(fmt::format("{}.{}", name_, input), channels_, square_window(1, stride, 0));
    }
    return net_.at();
  }

  void unit(const std::string& name, std::int64_t channels, Window window) {
    net_.relu(name + ".relu");
    net_.conv(name + ".conv", channels, window, false);
    net_.norm(name + ".bn");
  }

  void apply(const std::string& name, CellOp op, std::int64_t stride) {
    switch (op) {
      case CellOp::kNone:
        return;
      case CellOp::kConv1x1:
        return unit(name, channels_, square_window(1, stride, 0));
      case CellOp::kConv3x3:
        unit(name + "1", channels_ / 4, {});
        unit(name + "2", channels_ / 4, same_window(3, 3, stride));
        return unit(name + "3", channels_, {});
      case CellOp::kConv1x7:
        unit(name + "1", channels_ / 4, {});
        unit(name + "2", channels_ / 4, {1, 7, 1, 0, 3});
        unit(name + "3", channels_ / 4, {7, 1, 1, 3, 0});
        return unit(name + "4", channels_, square_window(1, stride, 0));
      case CellOp::kMax2:
        return net_.max_pool(name + ".pool", square_window(2, stride, 0));
      case CellOp::kMax3:
        return net_.max_pool(name + ".pool", square_window(3, stride, 1));
      case CellOp::kAverage3:
        return net_.average_pool(name + ".pool", square_window(3, stride, 1));
    }
  }

  ImageNet& net_;
  std::int64_t channels_;
  Image last_;
  Image before_;
  std::string name_;
};

Model amoebanet_d(std::string_view name, std::int64_t layers, std::int64_t filters) {
  ImageNet net({.name = std::string(name),
                .description = fmt::format("AmoebaNet-D, {} cells, {} filters, images of 224 × 224",
                                           layers, filters),
                .source = "Real et al., arXiv:1802.01548; sizes of GPipe, arXiv:1811.06965; widths "
                          "approximate",
                .family = "amoebanet",
                .inputs = 3L * 224 * 224},
               {3, 224, 224});
  net.open_block("stem1");
  net.conv("stem1.conv", filters / 4, square_window(3, 2, 1), false);
  net.norm("stem1.bn");
  AmoebaCells cells(net, filters / 4);
  cells.halving("stem2");
  cells.halving("stem3");
  for (std::int64_t i = 0; i < layers; ++i) {
    if (i > 0 && i % (layers / 3) == 0) {
      cells.halving(fmt::format("halving{}", i / (layers / 3)));
    }
    cells.normal(fmt::format("cell{}", i));
  }
  net.open_block("classify");
  net.global_pool("avgpool");
  net.linear("fc", 1000);
  net.loss();
  return net.finish();
}

std::vector<CatalogueModel> list_amoebanet() {
  return {{"amoebanet-d-L-D",
           "AmoebaNet-D of L cells (a multiple of 3) and D filters (of 8): amoebanet-d-18-256"}};
}

std::optional<Model> build_amoebanet(std::string_view name, std::int64_t /*sequence*/) {
  constexpr std::int64_t kMostLayers = 3'000;
  constexpr std::int64_t kMostFilters = 16'384;
  if (!name.starts_with(kAmoebaPrefix)) {
    return std::nullopt;
  }
  const auto size = dashed_numbers(name.substr(kAmoebaPrefix.size()));
  if (!size || size->size() != 2 || (*size)[0] % 3 != 0 || (*size)[0] > kMostLayers ||
      (*size)[1] % 8 != 0 || (*size)[1] > kMostFilters) {
    return std::nullopt;
  }
  return amoebanet_d(name, (*size)[0], (*size)[1]);
}

}  // namespace

const ModelFamily kAmoebaNetFamily = {list_amoebanet, build_amoebanet};

}  // namespace twinrun
