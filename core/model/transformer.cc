#include "core/model/transformer.h"

#include <utility>

#include <fmt/format.h>

#include "core/base/check.h"
#include "core/model/model_builder.h"

namespace twinrun {
namespace {

class TransformerBuilder {
 public:
  TransformerBuilder(Model head, const TransformerShape& shape, std::int64_t tokens)
      : builder_(std::move(head)), shape_(shape), tokens_(tokens) {}

  Model build() {
    embeddings();
    for (std::int64_t i = 0; i < shape_.layers; ++i) {
      name_ = fmt::format("layer{}", i);
      builder_.open_block(name_);
      if (shape_.post_norm) {
        post_norm_block();
      } else {
        pre_norm_block();
      }
    }
    ending();
    return builder_.finish();
  }

 private:
  // Appends a layer of `width` elements a token that follows the last one.
  Layer& append(std::string name, LayerKind kind, std::int64_t width) {
    Layer layer;
    layer.name = std::move(name);
    layer.kind = kind;
    layer.inputs = last_outputs_;
    layer.outputs = tokens_ * width;
    last_outputs_ = layer.outputs;
    last_ = builder_.add(std::move(layer));
    return builder_.layer(last_);
  }

  void embeddings() {
    builder_.open_block("embeddings");
    last_outputs_ = tokens_;
    Layer& table = append("embeddings", LayerKind::kEmbedding, shape_.hidden);
    table.parameters.push_back(shape_.vocab * shape_.hidden);
    for (const std::int64_t rows : {shape_.positions, shape_.token_types}) {
      if (rows > 0) {
        table.parameters.push_back(rows * shape_.hidden);
      }
    }
    if (shape_.post_norm) {
      norm("embeddings.norm");
    }
    dropout("embeddings.dropout");
  }

  void pre_norm_block() {
    norm(name_ + ".norm1");
    attention();
    residual(name_ + ".add1");
    norm(name_ + ".norm2");
    mlp();
    residual(name_ + ".add2");
  }

  void post_norm_block() {
    attention();
    residual(name_ + ".add1");
    norm(name_ + ".norm1");
    mlp();
    residual(name_ + ".add2");
    norm(name_ + ".norm2");
  }

  void norm(std::string name) {
    builder_.save_output(last_);
    Layer& layer = append(std::move(name), LayerKind::kNorm, shape_.hidden);
    layer.parameters.assign(shape_.rms_norm ? 1 : 2, shape_.hidden);
  }

  void dropout(std::string name) {
    if (shape_.dropout) {
      Layer& layer = append(std::move(name), LayerKind::kDropout, shape_.hidden);
      layer.saved_mask_bytes = layer.outputs;
    }
  }

  void residual(std::string name) {
    Layer& layer = append(std::move(name), LayerKind::kAdd, shape_.hidden);
    layer.inputs *= 2;
  }

  // The weight [in × out] with FLOPs and shape; tensors are the caller's.
  Layer& linear(std::string name, std::int64_t in, std::int64_t out) {
    builder_.save_output(last_);
    Layer& layer = append(std::move(name), LayerKind::kLinear, out);
    layer.forward_flops = 2 * tokens_ * in * out;
    layer.gemm = Gemm{tokens_, out, in};
    return layer;
  }

  static void add_weight(Layer& layer, std::int64_t in, std::int64_t out, bool bias) {
    layer.parameters.push_back(in * out);
    if (bias) {
      layer.parameters.push_back(out);
    }
  }

  void attention() {
    const std::int64_t h = shape_.hidden;
    const std::int64_t query = shape_.heads * shape_.head_dim;
    const std::int64_t key = shape_.kv_heads * shape_.head_dim;
    Layer& qkv = linear(name_ + ".qkv", h, query + 2 * key);
    if (shape_.fused_qkv) {
      add_weight(qkv, h, query + 2 * key, shape_.qkv_bias);
    } else {
      add_weight(qkv, h, query, shape_.qkv_bias);
      add_weight(qkv, h, key, shape_.qkv_bias);
      add_weight(qkv, h, key, shape_.qkv_bias);
    }
    if (shape_.qk_norm) {
      builder_.save_output(last_);
      Layer& norms = append(name_ + ".qk_norm", LayerKind::kNorm, query + 2 * key);
      norms.parameters = {shape_.head_dim, shape_.head_dim};
    }
    scores(query);
    Layer& out = linear(name_ + ".out", query, h);
    add_weight(out, query, h, shape_.out_bias);
    dropout(name_ + ".dropout1");
  }

  // Scores Q·K and their sum over V: 4·S·heads·head_dim a token. Kept for backward: the
  // probabilities, and with dropout their mask and what is left of them (Korthikanti et al.,
  // arXiv:2205.05198: 5 bytes each at 16 bits).
  void scores(std::int64_t query) {
    builder_.save_output(last_);
    const std::int64_t pairs = shape_.heads * tokens_ * tokens_;
    Layer& layer = append(name_ + ".attention", LayerKind::kAttention, query);
    layer.forward_flops = 4 * tokens_ * tokens_ * query;
    layer.gemm = Gemm{tokens_, tokens_, shape_.head_dim, 2 * shape_.heads};
    layer.saved = shape_.dropout ? 2 * pairs : pairs;
    layer.saved_mask_bytes = shape_.dropout ? pairs : 0;
  }

  void mlp() {
    const std::int64_t h = shape_.hidden;
    const std::int64_t matrices = shape_.gated_mlp ? 2 : 1;
    Layer& up = linear(name_ + ".up", h, matrices * shape_.ffn);
    for (std::int64_t i = 0; i < matrices; ++i) {
      add_weight(up, h, shape_.ffn, shape_.mlp_bias);
    }
    builder_.save_output(last_);  // GELU and SiLU are not in place
    Layer& act = append(name_ + ".act", LayerKind::kActivation, shape_.ffn);
    act.saved = shape_.gated_mlp ? act.outputs : 0;  // the gate, a factor of the product
    Layer& down = linear(name_ + ".down", shape_.ffn, h);
    add_weight(down, shape_.ffn, h, shape_.mlp_bias);
    dropout(name_ + ".dropout2");
  }

  void ending() {
    builder_.open_block("head");
    if (!shape_.post_norm) {
      norm("norm");
    }
    if (shape_.has_pooler) {
      pooler();
    }
    if (shape_.has_head) {
      Layer& head = linear("head", shape_.hidden, shape_.vocab);
      if (shape_.tied_head) {
        head.tied_to = 0;
      } else {
        add_weight(head, shape_.hidden, shape_.vocab, false);
      }
    }
    Layer loss;
    loss.name = "loss";
    loss.kind = LayerKind::kLoss;
    loss.inputs = last_outputs_;
    loss.outputs = 1;
    loss.saved = shape_.has_head ? last_outputs_ : 0;  // logarithms of the probabilities
    builder_.add(std::move(loss));
  }

  // A linear layer over the first token of each sample.
  void pooler() {
    const std::int64_t h = shape_.hidden;
    builder_.save_output(last_);
    Layer layer;
    layer.name = "pooler";
    layer.kind = LayerKind::kLinear;
    layer.parameters = {h * h, h};
    layer.inputs = h;
    layer.outputs = h;
    layer.forward_flops = 2 * h * h;
    layer.gemm = Gemm{1, h, h};
    builder_.add(std::move(layer));
  }

  ModelBuilder builder_;
  const TransformerShape shape_;
  const std::int64_t tokens_;
  std::string name_;
  std::size_t last_ = 0;
  std::int64_t last_outputs_ = 0;
};

}  // namespace

TransformerShape completed(TransformerShape shape) {
  const auto set = [](std::int64_t& value, std::int64_t usual) {
    value = value == 0 ? usual : value;
  };
  TWINRUN_CHECK(shape.heads > 0);
  set(shape.kv_heads, shape.heads);
  set(shape.head_dim, shape.hidden / shape.heads);
  set(shape.ffn, 4 * shape.hidden);
  set(shape.sequence, shape.positions);
  return shape;
}

bool counts_fit(const TransformerShape& shape, std::int64_t sequence) {
  const TransformerShape full = completed(shape);
  const auto real = [](std::int64_t count) { return static_cast<double>(count); };
  const double s = real(sequence > 0 ? sequence : full.sequence);
  const double query = real(full.heads) * real(full.head_dim);
  const double key = real(full.kv_heads) * real(full.head_dim);
  const double block = real(full.hidden) * (2 * query + 2 * key + 3 * real(full.ffn));
  const double head =
      real(full.hidden) * (real(full.vocab) + real(full.positions) + real(full.token_types));
  const double flops = s * (real(full.layers) * (2 * block + 4 * s * (query + 1)) + 2 * head);
  return flops < 4e18;  // the largest count of all; half the range is left for sums
}

Model build_transformer(Model head, const TransformerShape& shape, std::int64_t sequence) {
  head.transformer = completed(shape);
  head.sequence = sequence > 0 ? sequence : head.transformer->sequence;
  head.inputs = head.sequence;
  TWINRUN_CHECK(head.sequence > 0 && counts_fit(shape, sequence));
  const TransformerShape full = *head.transformer;
  const std::int64_t tokens = head.sequence;
  return TransformerBuilder(std::move(head), full, tokens).build();
}

}  // namespace twinrun
