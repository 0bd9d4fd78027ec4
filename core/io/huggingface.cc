#include "core/io/huggingface.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/io/json_object.h"
#include "core/io/load_model.h"
#include "core/model/transformer.h"

namespace twinrun {
namespace {

// Keys that change neither sizes nor FLOPs.
constexpr std::array<std::string_view, 45> kWithoutEffect = {"_name_or_path",
                                                             "transformers_version",
                                                             "torch_dtype",
                                                             "dtype",
                                                             "architectures",
                                                             "auto_map",
                                                             "model_type",
                                                             "use_cache",
                                                             "output_past",
                                                             "gradient_checkpointing",
                                                             "pretraining_tp",
                                                             "bos_token_id",
                                                             "eos_token_id",
                                                             "pad_token_id",
                                                             "sep_token_id",
                                                             "cls_token_id",
                                                             "decoder_start_token_id",
                                                             "initializer_range",
                                                             "layer_norm_eps",
                                                             "layer_norm_epsilon",
                                                             "rms_norm_eps",
                                                             "rope_theta",
                                                             "rope_scaling",
                                                             "rope_parameters",
                                                             "rope_interleaved",
                                                             "hidden_act",
                                                             "activation_function",
                                                             "position_embedding_type",
                                                             "classifier_dropout",
                                                             "embd_pdrop",
                                                             "attn_pdrop",
                                                             "summary_activation",
                                                             "summary_first_dropout",
                                                             "summary_proj_to_labels",
                                                             "summary_type",
                                                             "summary_use_proj",
                                                             "task_specific_params",
                                                             "n_ctx",
                                                             "max_window_layers",
                                                             "id2label",
                                                             "label2id",
                                                             "attention_probs_dropout_prob",
                                                             "scale_attn_weights",
                                                             "scale_attn_by_inverse_layer_idx",
                                                             "reorder_and_upcast_attn"};

constexpr std::int64_t kLargestDimension = 1'000'000'000;

class HuggingFaceReader {
 public:
  HuggingFaceReader(JsonValue value, Diagnostics& diagnostics)
      : value_(value), object_(value, "configuration", diagnostics), diagnostics_(diagnostics) {}

  // Empty when the kind is not known.
  std::string_view read(TransformerShape& shape) {
    const std::string type(text("model_type"));
    if (refuses_experts()) {
      return {};
    }
    if (type == "gpt2") {
      read_gpt2(shape);
      return "gpt";
    }
    if (type == "bert") {
      read_bert(shape);
      return "bert";
    }
    constexpr std::array<std::string_view, 4> kLlamaLike = {"llama", "mistral", "qwen2", "qwen3"};
    if (std::find(kLlamaLike.begin(), kLlamaLike.end(), type) == kLlamaLike.end()) {
      if (!value_.find("rms_norm_eps")) {
        diagnostics_.error("E0507", object_.place_of("model_type"),
                           fmt::format("model_type {} is not known", quoted_for_people(type)),
                           "known: llama, mistral, qwen2, qwen3, gpt2, bert");
        return {};
      }
      diagnostics_.warning(
          "W0502", object_.place_of("model_type"),
          fmt::format("model_type {} is not known and read like llama", quoted_for_people(type)));
    }
    read_llama(shape, type);
    return "llama";
  }

  void report_unread() {
    for (JsonValue member = value_.first(); member; member = member.next()) {
      const std::string_view key = member.key();
      const bool known =
          read_.contains(key) ||
          std::find(kWithoutEffect.begin(), kWithoutEffect.end(), key) != kWithoutEffect.end();
      if (!known && !(member.kind() == JsonKind::kNull)) {
        Place place = member.place();
        place.at_key = true;
        diagnostics_.warning("W0501", place, fmt::format("\"{}\" is not read", key));
      }
    }
  }

 private:
  // Configurations write null for "not given".
  bool is_given(std::string_view key) {
    read_.insert(key);
    const JsonValue member = value_.find(key);
    return member && member.kind() != JsonKind::kNull;
  }
  std::string_view text(std::string_view key) {
    const JsonValue member = is_given(key) ? value_.find(key) : JsonValue();
    return member && member.is_string() ? member.text() : std::string_view();
  }
  std::int64_t number(std::string_view key, std::int64_t usual) {
    return is_given(key) ? object_.integer(key, 1, kLargestDimension).value_or(usual) : usual;
  }
  std::int64_t required(std::string_view key) {
    object_.require(key);
    return number(key, 1);
  }
  bool flag(std::string_view key, bool usual) {
    return is_given(key) ? object_.boolean(key).value_or(usual) : usual;
  }
  bool is_positive(std::string_view key, double usual) {
    return (is_given(key) ? object_.number(key).value_or(usual) : usual) > 0;
  }

  bool refuses_experts() {
    for (const std::string_view key : {"num_local_experts", "n_routed_experts", "num_experts"}) {
      if (number(key, 1) > 1) {
        diagnostics_.error("E0507", object_.place_of(key), "mixtures of experts are not modelled");
        return true;
      }
    }
    return false;
  }

  void read_llama(TransformerShape& shape, std::string_view type) {
    shape.hidden = required("hidden_size");
    shape.layers = required("num_hidden_layers");
    shape.heads = required("num_attention_heads");
    shape.kv_heads = number("num_key_value_heads", shape.heads);
    shape.head_dim = number("head_dim", 0);
    shape.ffn = required("intermediate_size");
    shape.vocab = required("vocab_size");
    shape.sequence = std::min(number("max_position_embeddings", 2048), kUsualSequence);
    const bool attention_bias = flag("attention_bias", false);
    shape.qkv_bias = attention_bias || type == "qwen2";  // always there in Qwen 2, not in a key
    shape.out_bias = attention_bias;
    shape.mlp_bias = flag("mlp_bias", false);
    shape.qk_norm = type == "qwen3";
    shape.tied_head = flag("tie_word_embeddings", false);
    shape.dropout = is_positive("attention_dropout", 0);
    shape.gated_mlp = true;
    shape.rms_norm = true;
    shape.causal = true;
    if (flag("use_sliding_window", true) && is_given("sliding_window")) {
      diagnostics_.warning("W0502", object_.place_of("sliding_window"),
                           "a sliding window is not modelled: attention is counted in full");
    }
  }

  void read_gpt2(TransformerShape& shape) {
    shape.hidden = required("n_embd");
    shape.layers = required("n_layer");
    shape.heads = required("n_head");
    shape.ffn = number("n_inner", 0);
    shape.vocab = required("vocab_size");
    shape.positions = number("n_positions", 1024);
    shape.dropout = is_positive("resid_pdrop", 0.1);
    shape.tied_head = flag("tie_word_embeddings", true);
    shape.fused_qkv = true;
    shape.causal = true;
    set_biases(shape);
  }

  // Encoder and pooler, as in the catalogue.
  void read_bert(TransformerShape& shape) {
    shape.hidden = required("hidden_size");
    shape.layers = required("num_hidden_layers");
    shape.heads = required("num_attention_heads");
    shape.ffn = required("intermediate_size");
    shape.vocab = required("vocab_size");
    shape.positions = number("max_position_embeddings", 512);
    shape.token_types = number("type_vocab_size", 2);
    shape.dropout = is_positive("hidden_dropout_prob", 0.1);
    flag("tie_word_embeddings", true);  // there is no head to tie
    shape.post_norm = true;
    shape.has_head = false;
    shape.has_pooler = true;
    set_biases(shape);
  }

  static void set_biases(TransformerShape& shape) {
    shape.qkv_bias = true;
    shape.out_bias = true;
    shape.mlp_bias = true;
  }

  JsonValue value_;
  JsonObject object_;
  Diagnostics& diagnostics_;
  std::set<std::string_view> read_;
};

}  // namespace

bool is_huggingface(JsonValue root) {
  return root.is_object() && !root.find("schema") && !root.find("layers") &&
         !root.find("transformer") && (root.find("model_type") || root.find("architectures"));
}

Model read_huggingface(JsonValue root, std::int64_t sequence, Diagnostics& diagnostics) {
  const JsonValue nested = root.find("text_config");  // the decoder of a multimodal model
  const JsonValue config = nested && nested.is_object() ? nested : root;
  HuggingFaceReader reader(config, diagnostics);
  TransformerShape shape;
  Model head;
  const std::size_t errors_before = diagnostics.error_count();
  head.family = reader.read(shape);
  if (diagnostics.error_count() > errors_before ||
      !check_transformer(shape, sequence, config.place(), diagnostics)) {
    return head;
  }
  reader.report_unread();
  const JsonValue path = root.find("_name_or_path");
  head.name = path && path.is_string() ? std::string(path.text()) : "";
  head.description =
      fmt::format("{} of {} layers, hidden size {}", head.family, shape.layers, shape.hidden);
  head.source = fmt::format("Hugging Face configuration {}", root.place().file);
  return build_transformer(std::move(head), shape, sequence);
}

}  // namespace twinrun
