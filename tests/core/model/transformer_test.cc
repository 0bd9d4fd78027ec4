#include "core/model/transformer.h"

#include <algorithm>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/model/catalogue.h"

namespace twinrun {
namespace {

using testing::ElementsAre;

std::int64_t parameters(std::string_view name) {
  return totals_of(catalogue_model(name).value().layers).parameters;
}

const Layer& layer_named(const Model& model, std::string_view name) {
  return *std::find_if(model.layers.begin(), model.layers.end(),
                       [&](const Layer& layer) { return layer.name == name; });
}

// formats-and-ux.md 4.3.
TEST(Transformer, TotalsAreThePublishedOnes) {
  const std::map<std::string, std::int64_t> published = {
      {"bert-base", 109'482'240},
      {"bert-large", 335'141'888},
      {"gpt2", 124'439'808},
      {"gpt2-medium", 354'823'168},
      {"gpt2-large", 774'030'080},
      {"gpt2-xl", 1'557'611'200},
      {"gpt3-175b", 174'604'259'328},
      {"llama-2-7b", 6'738'415'616},
      {"llama-2-13b", 13'015'864'320},
      {"llama-2-70b", 68'976'648'192},
      {"llama-3-8b", 8'030'261'248},
      {"llama-3-70b", 70'553'706'496},
      {"llama-3-405b", 405'853'388'800},
  };
  for (const auto& [name, count] : published) {
    EXPECT_EQ(parameters(name), count) << name;
  }
  for (const auto& [name, count] : std::map<std::string, std::int64_t>{
           {"bert-base", 108'891'648}, {"bert-large", 334'092'288}}) {
    const Model model = *catalogue_model(name);
    EXPECT_EQ(parameters(name) - parameters_of(layer_named(model, "pooler")), count) << name;
  }
}

TEST(Transformer, BlocksHaveThePublishedParameters) {
  const std::map<std::string, std::int64_t> published = {
      {"gpt2", 7'087'872},          {"bert-base", 7'087'872},       {"gpt2-medium", 12'596'224},
      {"bert-large", 12'596'224},   {"gpt2-large", 19'677'440},     {"gpt2-xl", 30'740'800},
      {"gpt3-175b", 1'812'099'072}, {"llama-2-7b", 202'383'360},    {"llama-3-8b", 218'112'000},
      {"llama-3-70b", 855'654'400}, {"llama-3-405b", 3'187'703'808}};
  for (const auto& [name, count] : published) {
    const Model model = *catalogue_model(name);
    for (std::size_t block = 1; block + 1 < model.blocks.size(); ++block) {
      EXPECT_EQ(totals_of(layers_of(model, model.blocks[block])).parameters, count) << name;
    }
  }
}

// Linear FLOPs a token without the head, and those of attention: GFLOP, four figures at most.
TEST(Transformer, FlopsAreThePublishedOnes) {
  struct Published {
    double linear = 0;
    double attention = 0;  // 0: not published
    std::int64_t sequence = 0;
  };
  const std::map<std::string, Published> published = {
      {"bert-base", {0.170, 0.019, 512}}, {"bert-large", {0.604, 0.050, 512}},
      {"gpt2", {0.170, 0, 1024}},         {"gpt2-medium", {0.604, 0, 1024}},
      {"gpt2-large", {1.416, 0, 1024}},   {"gpt2-xl", {2.949, 0, 1024}},
      {"gpt3-175b", {347.9, 9.66, 2048}}, {"llama-2-7b", {12.95, 0, 4096}},
      {"llama-2-13b", {25.38, 0, 4096}},  {"llama-2-70b", {136.9, 0, 4096}},
      {"llama-3-8b", {13.96, 0, 8192}},   {"llama-3-70b", {136.9, 0, 8192}},
      {"llama-3-405b", {803.3, 0, 8192}}};
  for (const auto& [name, expected] : published) {
    const Model model = *catalogue_model(name);
    ASSERT_EQ(model.sequence, expected.sequence) << name;
    double linear = 0;
    double attention = 0;
    for (const Layer& layer : model.layers) {
      const double per_token =
          static_cast<double>(layer.forward_flops) / static_cast<double>(model.sequence) / 1e9;
      const bool in_block = layer.name != "head" && layer.name != "pooler";
      linear += layer.kind == LayerKind::kLinear && in_block ? per_token : 0;
      attention += layer.kind == LayerKind::kAttention ? per_token : 0;
    }
    EXPECT_NEAR(linear / expected.linear, 1, 0.002) << name;
    if (expected.attention > 0) {
      EXPECT_NEAR(attention, expected.attention, expected.attention < 1 ? 0.0005 : 0.005) << name;
    }
  }
}

// The names of Table 1 of the Megatron paper, which has one decimal: P in billions.
TEST(Transformer, MegatronSizesAreThoseOfTheTable) {
  const std::map<std::string, double> published = {
      {"megatron-1.7b", 1.7},   {"megatron-3.6b", 3.6},   {"megatron-7.5b", 7.5},
      {"megatron-18b", 18.4},   {"megatron-39b", 39.1},   {"megatron-76b", 76.1},
      {"megatron-145b", 145.6}, {"megatron-310b", 310.1}, {"megatron-530b", 529.6},
      {"megatron-1t", 1008.0}};
  for (const auto& [name, billions] : published) {
    EXPECT_NEAR(static_cast<double>(parameters(name)) / 1e9, billions, 0.05001) << name;
  }
}

// Korthikanti et al., arXiv:2205.05198: a block keeps s·b·h·(34 + 5·n·s/h) bytes at 16 bits.
TEST(Transformer, BlocksKeepThePublishedActivationBytes) {
  for (const std::int64_t s : {512, 2048}) {
    const Model model = *catalogue_model("gpt3-175b", s);
    EXPECT_EQ(model.sequence, s);
    const LayerTotals block = totals_of(layers_of(model, model.blocks[7]));
    const std::int64_t h = 12288;
    EXPECT_EQ(2 * block.saved + block.saved_mask_bytes, 34 * s * h + 480 * s * s);
  }
}

TEST(Transformer, CountsThatDoNotFitAreRefused) {
  EXPECT_TRUE(catalogue_model("megatron-1t", 100'000));
  EXPECT_FALSE(catalogue_model("megatron-1t", 1'000'000));
  EXPECT_FALSE(catalogue_model("gpt2", std::int64_t{1} << 62));
}

TEST(Transformer, BoundaryBetweenBlocksIsTheHiddenState) {
  const Model model = *catalogue_model("llama-2-7b", 100);
  for (std::size_t block = 0; block + 1 < model.blocks.size(); ++block) {
    EXPECT_EQ(model.blocks[block].boundary, 100 * 4096) << block;
  }
}

TEST(Transformer, TheHeadIsTiedWhereTheWeightsAre) {
  const Model gpt = *catalogue_model("gpt2");
  EXPECT_THAT(layer_named(gpt, "head").parameters, ElementsAre());
  EXPECT_EQ(layer_named(gpt, "head").tied_to, std::optional<std::size_t>(0));
  const Model llama = *catalogue_model("llama-2-7b");
  EXPECT_THAT(layer_named(llama, "head").parameters, ElementsAre(4096 * 32000));
  EXPECT_EQ(layer_named(llama, "head").tied_to, std::nullopt);
}

TEST(Transformer, SharedKeysHaveTheirOwnTensors) {
  const Model model = *catalogue_model("llama-3-8b", 16);
  EXPECT_THAT(layer_named(model, "layer0.qkv").parameters,
              ElementsAre(4096 * 4096, 4096 * 1024, 4096 * 1024));
  EXPECT_THAT(layer_named(model, "layer0.up").parameters, ElementsAre(4096 * 14336, 4096 * 14336));
  EXPECT_EQ(layer_named(model, "layer0.attention").gemm, (Gemm{16, 16, 128, 64}));
}

}  // namespace
}  // namespace twinrun
