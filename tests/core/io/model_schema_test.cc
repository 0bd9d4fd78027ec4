#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/io/load_model.h"
#include "core/io/save_model.h"
#include "core/model/catalogue.h"
#include "tests/core/io/schema_checker.h"

namespace twinrun {
namespace {

using Json = nlohmann::json;

bool schema_accepts(const Json& value) { return SchemaChecker("model").accepts(value); }

bool loader_accepts(const Json& value) {
  Diagnostics diagnostics;
  const JsonDocument document =
      JsonDocument::read(Source::of_text("model.json", value.dump()), diagnostics);
  read_model(document.root(), 0, diagnostics);
  return !diagnostics.has_errors();
}

TEST(ModelSchema, AcceptsWhatWeWrite) {
  for (const std::string_view name : {"resnet50", "amoebanet-d-6-8", "gpt2", "llama-3-8b"}) {
    EXPECT_TRUE(schema_accepts(Json::parse(save_model(*catalogue_model(name))))) << name;
  }
}

// Schema and loader are two descriptions of one format: what one refuses the other must, too.
TEST(ModelSchema, RefusesWhatTheLoaderRefuses) {
  const Json layers = Json::parse(save_model(*catalogue_model("mlp-3-2")));
  const Json shape = Json::parse(save_model(*catalogue_model("gpt2")));
  EXPECT_TRUE(loader_accepts(layers) && schema_accepts(layers));
  EXPECT_TRUE(loader_accepts(shape) && schema_accepts(shape));
  const auto expect_refused = [](Json value, const char* pointer, const Json& changed) {
    value[Json::json_pointer(pointer)] = changed;
    EXPECT_FALSE(schema_accepts(value)) << pointer;
    EXPECT_FALSE(loader_accepts(value)) << pointer;
  };
  expect_refused(layers, "/schema", "twinrun/plan/1");
  expect_refused(layers, "/layers", Json::array());
  expect_refused(layers, "/transformer", shape["transformer"]);
  expect_refused(layers, "/layers/0/kind", "convolution");
  expect_refused(layers, "/layers/0/outputs", -1);
  expect_refused(layers, "/layers/0/outputs", 1.5);
  expect_refused(layers, "/layers/0/outputs", nullptr);
  expect_refused(layers, "/layers/0/forward_flops", 1e19);
  expect_refused(layers, "/layers/0/parameters", Json::array({0}));
  expect_refused(layers, "/layers/0/parameters", Json::array({"7"}));
  expect_refused(layers, "/layers/0/gemm", Json::object());
  expect_refused(layers, "/layers/0/gemm/m", 0);
  expect_refused(layers, "/layers/0/tied_to", 0);
  expect_refused(layers, "/layers/0/flops", 7);
  expect_refused(shape, "/transformer/hidden", 0);
  expect_refused(shape, "/transformer/causal", 1);
  expect_refused(shape, "/transformer/ffn", "4h");
  expect_refused(shape, "/transformer/width", 7);
  expect_refused(shape, "/extra", 7);
}

}  // namespace
}  // namespace twinrun
