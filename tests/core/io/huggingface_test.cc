#include "core/io/huggingface.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/io/load_model.h"
#include "core/model/catalogue.h"

namespace twinrun {
namespace {

using testing::ElementsAre;

struct Read {
  Model model;
  std::vector<std::string> complaints;  // "W0501 /key"
};

Read read_config(const std::string& text, std::int64_t sequence = 0) {
  Diagnostics diagnostics;
  const JsonDocument document =
      JsonDocument::read(Source::of_text("config.json", text), diagnostics);
  Read read;
  read.model = read_model(document.root(), sequence, diagnostics);
  for (const Diagnostic& one : diagnostics.all()) {
    read.complaints.push_back(one.code + " " + one.place.pointer);
  }
  return read;
}

// The keys are those of the public configurations (formats-and-ux.md 4.1), the numbers those of
// the models, so that the layers must equal the catalogue's.
TEST(HuggingFace, LlamaIsTheCataloguesOne) {
  const Read read = read_config(R"({
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "attention_bias": false,
    "attention_dropout": 0.0, "bos_token_id": 128000, "hidden_act": "silu", "hidden_size": 4096,
    "intermediate_size": 14336, "max_position_embeddings": 131072, "num_attention_heads": 32,
    "num_hidden_layers": 32, "num_key_value_heads": 8, "rms_norm_eps": 1e-05,
    "rope_scaling": null, "rope_theta": 500000.0, "tie_word_embeddings": false,
    "torch_dtype": "bfloat16", "transformers_version": "4.40.0", "use_cache": true,
    "vocab_size": 128256})");
  EXPECT_THAT(read.complaints, ElementsAre());
  EXPECT_EQ(read.model.transformer, catalogue_model("llama-3-8b")->transformer);
  EXPECT_EQ(read.model.layers, catalogue_model("llama-3-8b")->layers);
}

TEST(HuggingFace, Gpt2IsTheCataloguesOne) {
  const Read read = read_config(R"({
    "activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1,
    "embd_pdrop": 0.1, "layer_norm_epsilon": 1e-05, "model_type": "gpt2", "n_ctx": 1024,
    "n_embd": 1600, "n_head": 25, "n_inner": null, "n_layer": 48, "n_positions": 1024,
    "resid_pdrop": 0.1, "vocab_size": 50257})");
  EXPECT_THAT(read.complaints, ElementsAre());
  EXPECT_EQ(read.model.layers, catalogue_model("gpt2-xl")->layers);
}

TEST(HuggingFace, BertIsTheCataloguesOne) {
  const Read read = read_config(R"({
    "architectures": ["BertForMaskedLM"], "attention_probs_dropout_prob": 0.1,
    "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "hidden_size": 1024,
    "intermediate_size": 4096, "max_position_embeddings": 512, "model_type": "bert",
    "num_attention_heads": 16, "num_hidden_layers": 24, "pad_token_id": 0,
    "type_vocab_size": 2, "vocab_size": 30522})",
                                128);
  EXPECT_THAT(read.complaints, ElementsAre());
  EXPECT_EQ(read.model.layers, catalogue_model("bert-large", 128)->layers);
}

std::string small(const std::string& more) {
  return R"({"hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4,
             "num_hidden_layers": 2, "vocab_size": 50, "max_position_embeddings": 32, )" +
         more + "}";
}

std::int64_t parameters(const Read& read) { return totals_of(read.model.layers).parameters; }

// 4.2: h·n·d + 2·h·g·d + n·d·h (+ biases) + 3·h·f + 2h a layer.
TEST(HuggingFace, VariantsHaveTheirTensors) {
  const std::int64_t layer = 4 * 64 * 64 + 3 * 64 * 96 + 2 * 64;
  const std::int64_t rest = 50 * 64 + 64;
  EXPECT_EQ(parameters(read_config(small(R"("model_type": "mistral")"))),
            2 * layer + rest + 50 * 64);
  EXPECT_EQ(parameters(read_config(small(R"("model_type": "qwen2", "tie_word_embeddings": true)"))),
            2 * (layer + 3 * 64) + rest);
  EXPECT_EQ(parameters(read_config(small(R"("model_type": "qwen3", "tie_word_embeddings": true)"))),
            2 * (layer + 2 * 16) + rest);
  EXPECT_EQ(parameters(read_config(small(
                R"("model_type": "llama", "tie_word_embeddings": true, "attention_bias": true,
                   "mlp_bias": true, "num_key_value_heads": 2, "head_dim": 32)"))),
            2 * (64 * 128 * 2 + 2 * 64 * 64 + (128 + 2 * 64 + 64) + 3 * 64 * 96 + (2 * 96 + 64) +
                 2 * 64) +
                rest);
}

TEST(HuggingFace, ReadsTheDecoderOfAMultimodalModel) {
  const Read read = read_config(R"({"model_type": "llava", "vision_config": {}, "text_config": )" +
                                small(R"("model_type": "mistral")") + "}");
  EXPECT_THAT(read.complaints, ElementsAre());
  EXPECT_EQ(read.model.transformer->hidden, 64);
}

TEST(HuggingFace, ReportsWhatItDoesNotRead) {
  const Read read = read_config(
      small(R"("model_type": "mistral", "sliding_window": 16, "novelty": 3, "nothing": null)"));
  EXPECT_THAT(read.complaints, ElementsAre("W0502 /sliding_window", "W0501 /novelty"));
  EXPECT_EQ(read.model.layers.empty(), false);
  EXPECT_THAT(read_config(small(R"("model_type": "novel", "rms_norm_eps": 1e-6)")).complaints,
              ElementsAre("W0502 /model_type"));
}

TEST(HuggingFace, RefusesWhatItCannotModel) {
  EXPECT_THAT(read_config(small(R"("model_type": "mixtral", "num_local_experts": 8)")).complaints,
              ElementsAre("E0507 /num_local_experts"));
  EXPECT_THAT(read_config(small(R"("model_type": "t5")")).complaints,
              ElementsAre("E0507 /model_type"));
  EXPECT_THAT(read_config(R"({"model_type": "gpt2", "n_embd": 8, "n_head": 3})").complaints,
              ElementsAre("E0201 ", "E0201 "));
  EXPECT_THAT(read_config(R"({"model_type": "gpt2", "n_embd": 8, "n_head": 3, "n_layer": 1,
                              "vocab_size": 5})")
                  .complaints,
              ElementsAre("E0508 "));
  EXPECT_THAT(read_config(R"({"model_type": "gpt2", "n_embd": 8, "n_head": 2, "n_layer": 1000000,
                              "vocab_size": 5})")
                  .complaints,
              ElementsAre("E0505 "));
}

}  // namespace
}  // namespace twinrun
