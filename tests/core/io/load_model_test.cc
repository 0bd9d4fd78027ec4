#include "core/io/load_model.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/io/save_model.h"
#include "core/model/catalogue.h"

namespace twinrun {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

Model read_text(const std::string& text, Diagnostics& diagnostics, std::int64_t sequence = 0) {
  const JsonDocument document =
      JsonDocument::read(Source::of_text("model.json", text), diagnostics);
  return read_model(document.root(), sequence, diagnostics);
}

// "E0503 /layers/1/name", one for each complaint.
std::vector<std::string> complaints(const std::string& text) {
  Diagnostics diagnostics;
  read_text(text, diagnostics);
  std::vector<std::string> out;
  for (const Diagnostic& one : diagnostics.all()) {
    out.push_back(one.code + " " + one.place.pointer);
  }
  return out;
}

std::string complaints_about_argument(const std::string& argument, std::int64_t sequence = 0) {
  Diagnostics diagnostics;
  read_model_argument(argument, sequence, diagnostics);
  std::string out;
  for (const Diagnostic& one : diagnostics.all()) {
    out += one.code + " " + one.message + " | " + one.help;
  }
  return out;
}

TEST(LoadModel, ReadsLayersWithTheirDefaults) {
  Diagnostics diagnostics;
  const Model model = read_text(R"({
    "schema": "twinrun/model/1", "name": "mine", "inputs": 100,
    "layers": [
      {"name": "a", "kind": "linear", "parameters": [2000, 20], "forward_flops": 4000,
       "outputs": 20, "gemm": {"m": 1, "n": 20, "k": 100}, "block": "first"},
      {"name": "b", "outputs": 20, "activations": 0, "mask_bytes": 20, "block": "first"},
      {"name": "c", "parameters": 7, "buffers": 3, "inputs": 5, "outputs": 2e3, "boundary": 9},
      {"name": "d", "outputs": 1, "tied_to": "a"}]})",
                                diagnostics);
  ASSERT_TRUE(diagnostics.all().empty());
  const auto layer = [](std::string name, std::int64_t inputs, std::int64_t outputs) {
    Layer one;
    one.name = std::move(name);
    one.inputs = inputs;
    one.outputs = outputs;
    one.saved = outputs;
    return one;
  };
  Layer a = layer("a", 100, 20);
  a.kind = LayerKind::kLinear;
  a.parameters = {2000, 20};
  a.forward_flops = 4000;
  a.gemm = Gemm{1, 20, 100};
  Layer b = layer("b", 20, 20);
  b.saved = 0;
  b.saved_mask_bytes = 20;
  Layer c = layer("c", 5, 2000);
  c.parameters = {7};
  c.buffers = 3;
  Layer d = layer("d", 2000, 1);
  d.tied_to = 0;
  EXPECT_EQ(model.layers, (std::vector<Layer>{a, b, c, d}));
  ASSERT_EQ(model.blocks.size(), 3U);
  EXPECT_EQ(model.blocks[0].name, "first");
  EXPECT_EQ(model.blocks[0].layer_count, 2U);
  EXPECT_EQ(model.blocks[0].boundary, 20);
  EXPECT_EQ(model.blocks[1].boundary, 9);
  EXPECT_EQ(model.family, "custom");
}

TEST(LoadModel, EveryCatalogueModelSurvivesAFile) {
  for (const CatalogueModel& entry : catalogue_models()) {
    const std::string name = entry.name == "amoebanet-d-L-D" ? "amoebanet-d-6-8"
                             : entry.name == "mlp-A-B-C"     ? "mlp-3-2"
                                                             : entry.name;
    const Model model = *catalogue_model(name);
    Diagnostics diagnostics;
    const Model again = read_text(save_model(model), diagnostics);
    EXPECT_TRUE(diagnostics.all().empty()) << name;
    EXPECT_EQ(again.layers, model.layers) << name;
    EXPECT_EQ(again.transformer, model.transformer) << name;
    EXPECT_EQ(again.inputs, model.inputs) << name;
    EXPECT_EQ(again.description, model.description) << name;
    ASSERT_EQ(again.blocks.size(), model.blocks.size()) << name;
    for (std::size_t i = 0; i < model.blocks.size(); ++i) {
      EXPECT_EQ(again.blocks[i].name, model.blocks[i].name);
      EXPECT_EQ(again.blocks[i].boundary, model.blocks[i].boundary) << name << i;
      EXPECT_EQ(again.blocks[i].layer_count, model.blocks[i].layer_count) << name << i;
    }
  }
}

TEST(LoadModel, ComplainsAboutEveryMistakeAtItsPlace) {
  EXPECT_THAT(complaints(R"({"layers": [
      {"name": "a", "outputs": 1, "block": "x", "colour": 1},
      {"name": "a", "outputs": 1},
      {"name": "b", "outputs": -1, "block": "x", "kind": "convolution"},
      {"name": "c", "outputs": 1, "tied_to": "b", "parameters": [0, "1"]},
      {"name": "d", "gemm": {"m": 1}},
      7]})"),
              ElementsAre("E0205 /layers/0/colour", "E0503 /layers/1/name", "E0204 /layers/2/kind",
                          "E0203 /layers/2/outputs", "E0506 /layers/2/block",
                          "E0203 /layers/3/parameters/0", "E0202 /layers/3/parameters/1",
                          "E0504 /layers/3/tied_to", "E0201 /layers/4", "E0201 /layers/4/gemm",
                          "E0201 /layers/4/gemm", "E0202 /layers/5"));
  EXPECT_THAT(complaints(R"({"layers": [], "name": 5})"), ElementsAre("E0202 /name", "E0502 "));
  EXPECT_THAT(
      complaints(R"({"schema": "twinrun/plan/1", "layers": [{"name": "a", "outputs": 1}]})"),
      ElementsAre("E0207 /schema"));
  EXPECT_THAT(complaints(R"({"layers": [{"name": "a", "outputs": 1, "parameters":
      [1000000000000000000, 1000000000000000000, 1000000000000000000, 1000000000000000000, 1000000000000000000]}]})"),
              ElementsAre("E0505 /layers"));
  EXPECT_THAT(complaints("[]"), ElementsAre("E0202 "));
}

TEST(LoadModel, ChecksTransformers) {
  const std::string start = R"({"transformer": {"hidden": 768, "layers": 2, "vocab": 100, )";
  EXPECT_THAT(complaints(start + R"("heads": 12, "sequence": 8}})"), ElementsAre());
  EXPECT_THAT(complaints(start + R"("heads": 7, "sequence": 8}})"),
              ElementsAre("E0508 /transformer"));
  EXPECT_THAT(complaints(start + R"("heads": 12, "kv_heads": 5, "sequence": 8}})"),
              ElementsAre("E0508 /transformer"));
  EXPECT_THAT(complaints(start + R"("heads": 12}})"), ElementsAre("E0201 /transformer"));
  EXPECT_THAT(complaints(start + R"("heads": 12, "sequence": 1000000000}})"),
              ElementsAre("E0505 /transformer"));
  EXPECT_THAT(complaints(start + R"("sequence": 8}})"), ElementsAre("E0201 /transformer"));
  EXPECT_THAT(
      complaints(start +
                 R"("heads": 12, "sequence": 8}, "layers": [{"name": "a", "outputs": 1}]})"),
      ElementsAre("E0502 "));
}

TEST(LoadModel, WarnsAboutSamplesLongerThanTheTableOfPositions) {
  Diagnostics diagnostics;
  const Model model =
      read_text(R"({"transformer": {"hidden": 8, "layers": 1, "vocab": 5, "heads": 1,
                                                    "positions": 16}})",
                diagnostics, 17);
  ASSERT_EQ(diagnostics.all().size(), 1U);
  EXPECT_EQ(diagnostics.all().front().code, "W0503");
  EXPECT_EQ(model.sequence, 17);
}

TEST(ModelArgument, TakesNamesAndFiles) {
  Diagnostics diagnostics;
  EXPECT_EQ(read_model_argument("gpt2", 128, diagnostics).sequence, 128);
  EXPECT_FALSE(diagnostics.has_errors());
  EXPECT_THAT(complaints_about_argument("resnet5"),
              testing::AllOf(StartsWith("E0501 "), HasSubstr("did you mean \"resnet50\"")));
  EXPECT_THAT(complaints_about_argument("mlp-784"), StartsWith("E0501 "));
  EXPECT_THAT(complaints_about_argument("gpt2", 1'000'000'000), StartsWith("E0505 "));
  EXPECT_THAT(complaints_about_argument("gpt2", 2048), StartsWith("W0503 "));
  EXPECT_EQ(complaints_about_argument("gpt2", 1024), "");
  EXPECT_EQ(complaints_about_argument("llama-2-7b", 100'000), "");
  EXPECT_THROW(read_model_argument("no/such/file.json", 0, diagnostics), InputError);
}

}  // namespace
}  // namespace twinrun
