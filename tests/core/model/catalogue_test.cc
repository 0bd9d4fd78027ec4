#include "core/model/catalogue.h"

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace twinrun {
namespace {

using testing::ElementsAre;

// Expected numbers: the public counts collected in formats-and-ux.md 4.3.

struct Row {
  std::int64_t parameters = 0;
  std::int64_t macs = 0;
  std::int64_t product_outputs = 0;
  bool operator==(const Row&) const = default;
  // NOLINTNEXTLINE(readability-identifier-naming): GoogleTest's name
  friend void PrintTo(const Row& row, std::ostream* out) {
    *out << row.parameters << " / " << row.macs << " / " << row.product_outputs;
  }
};

Row row_of(std::span<const Layer> layers) {
  const LayerTotals totals = totals_of(layers);
  return {totals.parameters, totals.forward_flops / 2, totals.product_outputs};
}

Row total(std::string_view name) { return row_of(catalogue_model(name).value().layers); }

// Rows of the blocks, those with the same name up to the first '.' added up.
std::map<std::string, Row> stages(const Model& model) {
  std::map<std::string, Row> rows;
  for (const Block& block : model.blocks) {
    const Row row = row_of(layers_of(model, block));
    Row& sum = rows[block.name.substr(0, block.name.find('.'))];
    sum = {sum.parameters + row.parameters, sum.macs + row.macs,
           sum.product_outputs + row.product_outputs};
  }
  return rows;
}

TEST(Catalogue, ImageNetworksHaveThePublishedTotals) {
  EXPECT_EQ(total("alexnet"), (Row{61'100'840, 714'188'480, 494'184}));
  EXPECT_EQ(total("vgg16"), (Row{138'357'544, 15'470'264'320, 13'556'712}));
  EXPECT_EQ(total("resnet50"), (Row{25'557'032, 4'089'184'256, 11'114'984}));
  EXPECT_EQ(total("inception-v3"), (Row{23'834'568, 5'713'216'096, 8'968'488}));
  // torchvision's documentation: 44,549,160 and 60,192,808 parameters, 7.80 and 11.51 GMAC.
  EXPECT_EQ(total("resnet101").parameters, 44'549'160);
  EXPECT_EQ(total("resnet152").parameters, 60'192'808);
  EXPECT_NEAR(static_cast<double>(total("resnet101").macs), 7.80e9, 0.005e9);
  EXPECT_NEAR(static_cast<double>(total("resnet152").macs), 11.51e9, 0.005e9);
  // The same: 1.81, 3.66 and 19.63 GMAC.
  EXPECT_EQ(total("resnet18").parameters, 11'689'512);
  EXPECT_EQ(total("resnet34").parameters, 21'797'672);
  EXPECT_EQ(total("vgg19").parameters, 143'667'240);
  EXPECT_NEAR(static_cast<double>(total("resnet18").macs), 1.81e9, 0.005e9);
  EXPECT_NEAR(static_cast<double>(total("resnet34").macs), 3.66e9, 0.005e9);
  EXPECT_NEAR(static_cast<double>(total("vgg19").macs), 19.63e9, 0.005e9);
  // timm's tables: 64.67 M, and 15.07 GMAC with those of norms, 0.4 %.
  EXPECT_NEAR(static_cast<double>(total("resnet200").parameters), 64.67e6, 0.005e6);
  EXPECT_NEAR(static_cast<double>(total("resnet200").macs), 15.07e9, 0.07e9);
}

TEST(Catalogue, AlexNetLayerByLayer) {
  EXPECT_EQ(stages(*catalogue_model("alexnet")),
            (std::map<std::string, Row>{{"conv1", {23'296, 70'276'800, 193'600}},
                                        {"conv2", {307'392, 223'948'800, 139'968}},
                                        {"conv3", {663'936, 112'140'288, 64'896}},
                                        {"conv4", {884'992, 149'520'384, 43'264}},
                                        {"conv5", {590'080, 99'680'256, 43'264}},
                                        {"fc6", {37'752'832, 37'748'736, 4'096}},
                                        {"fc7", {16'781'312, 16'777'216, 4'096}},
                                        {"fc8", {4'097'000, 4'096'000, 1'000}}}));
}

TEST(Catalogue, Vgg16LayerByLayer) {
  EXPECT_EQ(stages(*catalogue_model("vgg16")),
            (std::map<std::string, Row>{{"conv1_1", {1'792, 86'704'128, 3'211'264}},
                                        {"conv1_2", {36'928, 1'849'688'064, 3'211'264}},
                                        {"conv2_1", {73'856, 924'844'032, 1'605'632}},
                                        {"conv2_2", {147'584, 1'849'688'064, 1'605'632}},
                                        {"conv3_1", {295'168, 924'844'032, 802'816}},
                                        {"conv3_2", {590'080, 1'849'688'064, 802'816}},
                                        {"conv3_3", {590'080, 1'849'688'064, 802'816}},
                                        {"conv4_1", {1'180'160, 924'844'032, 401'408}},
                                        {"conv4_2", {2'359'808, 1'849'688'064, 401'408}},
                                        {"conv4_3", {2'359'808, 1'849'688'064, 401'408}},
                                        {"conv5_1", {2'359'808, 462'422'016, 100'352}},
                                        {"conv5_2", {2'359'808, 462'422'016, 100'352}},
                                        {"conv5_3", {2'359'808, 462'422'016, 100'352}},
                                        {"fc6", {102'764'544, 102'760'448, 4'096}},
                                        {"fc7", {16'781'312, 16'777'216, 4'096}},
                                        {"fc8", {4'097'000, 4'096'000, 1'000}}}));
}

TEST(Catalogue, ResNet50StageByStage) {
  EXPECT_EQ(stages(*catalogue_model("resnet50")),
            (std::map<std::string, Row>{{"stem", {9'536, 118'013'952, 802'816}},
                                        {"layer1", {215'808, 667'942'912, 4'415'488}},
                                        {"layer2", {1'219'584, 1'027'604'480, 3'110'912}},
                                        {"layer3", {7'098'368, 1'464'336'384, 2'157'568}},
                                        {"layer4", {14'964'736, 809'238'528, 627'200}},
                                        {"fc", {2'049'000, 2'048'000, 1'000}}}));
}

// MACs of the modules are published to 0.1 M.
TEST(Catalogue, InceptionModuleByModule) {
  const std::map<std::string, Row> rows = stages(*catalogue_model("inception-v3"));
  EXPECT_EQ(rows.at("stem"), (Row{172'672, 1'340'779'616, 4'179'088}));
  const std::map<std::string, std::pair<std::int64_t, double>> modules = {
      {"Mixed_5b", {255'904, 312.3}},   {"Mixed_5c", {277'472, 338.7}},
      {"Mixed_5d", {285'152, 348.1}},   {"Mixed_6a", {1'153'280, 401.9}},
      {"Mixed_6b", {1'297'408, 374.1}}, {"Mixed_6c", {1'691'008, 487.7}},
      {"Mixed_6d", {1'691'008, 487.7}}, {"Mixed_6e", {2'141'952, 617.9}},
      {"Mixed_7a", {1'698'304, 291.0}}, {"Mixed_7b", {5'044'608, 322.4}},
      {"Mixed_7c", {6'076'800, 388.5}}, {"fc", {2'049'000, 2.0}}};
  EXPECT_EQ(rows.size(), modules.size() + 1);
  for (const auto& [name, expected] : modules) {
    EXPECT_EQ(rows.at(name).parameters, expected.first) << name;
    EXPECT_NEAR(static_cast<double>(rows.at(name).macs) / 1e6, expected.second, 0.0501) << name;
  }
}

// DDP broadcasts them: 53,120 statistics of 53 layers in a public trace (4.5).
TEST(Catalogue, ResNet50HasThePublishedBatchNormStatistics) {
  EXPECT_EQ(totals_of(catalogue_model("resnet50")->layers).buffers, 53'120);
}

// conv → norm → ReLU in place keeps the outputs of the convolution and of the ReLU: "about 2 ×".
TEST(Catalogue, ResNet50SavesAboutTwiceItsConvolutionOutputs) {
  const Model model = *catalogue_model("resnet50");
  const LayerTotals totals = totals_of(model.layers);
  EXPECT_NEAR(static_cast<double>(totals.saved) / static_cast<double>(totals.product_outputs), 2,
              0.15);
  const Block& last = model.blocks[model.blocks.size() - 2];  // layer4.2: no way around
  const std::int64_t narrow = 512L * 7 * 7;
  EXPECT_EQ(totals_of(layers_of(model, last)).saved, 2 * (2 * narrow + 4 * narrow));
}

// Parameters of the torchgpipe benchmarks, which print three or four figures, and of the GPipe
// paper, whose own sizes are up to 2 % off (gpipe_memory_torchgpipe_p40.json).
TEST(Catalogue, AmoebaNetHasThePublishedNumbersOfParameters) {
  struct Published {
    double millions = 0;
    double half_figure = 0;
  };
  const std::map<std::string, Published> published = {{"amoebanet-d-18-208", {81.5, 0.05}},
                                                      {"amoebanet-d-18-416", {319.0, 0.05}},
                                                      {"amoebanet-d-18-544", {542.7, 0.05}},
                                                      {"amoebanet-d-36-544", {1060, 5}},
                                                      {"amoebanet-d-72-512", {1840, 5}}};
  for (const auto& [name, expected] : published) {
    EXPECT_NEAR(static_cast<double>(total(name).parameters) / 1e6, expected.millions,
                expected.half_figure)
        << name;
  }
  // torchgpipe's balances of (18, 256) add up to 24.
  EXPECT_EQ(catalogue_model("amoebanet-d-18-256")->blocks.size(), 24U);
}

TEST(Catalogue, AmoebaNetCellsHandTwoTensorsOn) {
  const Model model = *catalogue_model("amoebanet-d-18-256");
  EXPECT_EQ(model.blocks[5].name, "cell2");
  EXPECT_EQ(model.blocks[5].boundary, 2L * 4 * 256 * 28 * 28);
}

TEST(Catalogue, MlpTakesAnyWidths) {
  const Model model = *catalogue_model("mlp-784-256-10");
  EXPECT_THAT(tensors_of(model), ElementsAre(784 * 256, 256, 256 * 10, 10));
  EXPECT_EQ(row_of(model.layers), (Row{200'704 + 256 + 2'560 + 10, 200'704 + 2'560, 256 + 10}));
  EXPECT_EQ(model.layers[0].gemm, (Gemm{1, 256, 784}));
  EXPECT_EQ(totals_of(model.layers).saved, 784 + 256 + 10);  // sample, ReLU, probabilities
  EXPECT_EQ(catalogue_model("mlp-1-1-1-1-1")->blocks.size(), 4U);
}

TEST(Catalogue, KnowsNoOtherNames) {
  for (const std::string name :
       {"", "resnet", "resnet51", "mlp", "mlp-", "mlp-784", "mlp-784-", "mlp-0-10", "mlp-7x8-10",
        "mlp-1000001-10", "mlp--5-10", "amoebanet-d-18", "amoebanet-d-17-256", "amoebanet-d-18-255",
        "amoebanet-d-18-256-1", "amoebanet-d-999999-8", "RESNET50"}) {
    EXPECT_FALSE(catalogue_model(name)) << name;
  }
}

// Whatever the model: names are unique, blocks cover the layers, every layer says what it reads
// and writes, and the matrix product is what the FLOPs say.
TEST(Catalogue, EveryModelIsConsistent) {
  for (const CatalogueModel& entry : catalogue_models()) {
    std::string name = entry.name;
    name = name == "amoebanet-d-L-D" ? "amoebanet-d-6-8" : name == "mlp-A-B-C" ? "mlp-3-2" : name;
    const std::optional<Model> model = catalogue_model(name);
    ASSERT_TRUE(model) << name;
    EXPECT_EQ(model->name, name);
    EXPECT_FALSE(model->source.empty() || model->description.empty() || model->family.empty());
    std::set<std::string> names;
    std::size_t next = 0;
    for (const Block& block : model->blocks) {
      EXPECT_EQ(block.first_layer, next) << name;
      next += block.layer_count;
      EXPECT_GT(block.boundary, 0) << name;
    }
    EXPECT_EQ(next, model->layers.size()) << name;
    for (const Layer& layer : model->layers) {
      EXPECT_TRUE(names.insert(layer.name).second) << name << ' ' << layer.name;
      EXPECT_TRUE(layer.inputs > 0 && layer.outputs > 0 && layer.saved >= 0) << layer.name;
      const Gemm gemm = layer.gemm.value_or(Gemm{});
      EXPECT_EQ(layer.forward_flops, 2 * gemm.m * gemm.n * gemm.k * gemm.count)
          << name << ' ' << layer.name;
    }
  }
}

}  // namespace
}  // namespace twinrun
