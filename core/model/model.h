#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace twinrun {

enum class LayerKind : std::uint8_t {
  kConv,
  kLinear,
  kEmbedding,
  kNorm,
  kAttention,  // scores, softmax and weighted sum; the projections around it are kLinear
  kPool,
  kActivation,
  kDropout,
  kAdd,     // a residual sum
  kConcat,  // branches side by side
  kLoss,
  kOther,
};
inline constexpr std::array<std::string_view, 12> kLayerKindNames = {
    "conv",       "linear",  "embedding", "norm",   "attention", "pool",
    "activation", "dropout", "add",       "concat", "loss",      "other"};
constexpr std::string_view name_of(LayerKind kind) {
  return kLayerKindNames[static_cast<std::size_t>(kind)];
}

// The matrix product that a layer's FLOPs are: `count` of them per sample, m growing with the
// batch. A convolution is the product of its unrolled input with its weights.
struct Gemm {
  std::int64_t m = 0;  // per sample
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t count = 1;  // per sample; attention has two for each head
  std::int64_t taps = 1;   // of a convolution's window, 9 for 3 × 3: k is taps × channels
  bool operator==(const Gemm&) const = default;
};

// One layer, for one sample; a batch of B costs B times the FLOPs and elements and the same
// parameters. FLOPs are 2 × multiply-accumulate, of convolutions and matrix products only, as
// everybody counts them: the other layers are bound by the elements they read and write.
struct Layer {
  std::string name;  // unique in its model
  LayerKind kind = LayerKind::kOther;
  std::vector<std::int64_t> parameters;  // elements of each trained tensor, as registered
  std::int64_t buffers = 0;        // elements kept but not trained: running statistics of a norm
  std::int64_t forward_flops = 0;  // backward: twice as many
  std::int64_t inputs = 0;         // elements read, parameters not counted
  std::int64_t outputs = 0;        // elements written
  std::int64_t saved = 0;          // elements that stay in memory until backward, see below
  std::int64_t saved_mask_bytes =
      0;  // the same in bytes, where it is no activation: masks, indices
  std::optional<Gemm> gemm;
  std::optional<std::size_t> tied_to;  // the layer whose first tensor is this one's weight as well
  bool operator==(const Layer&) const = default;
};
// Saved elements: each tensor counts once, in the layer that writes it, when the backward of any
// layer reads it. A convolution, linear layer or norm reads its input, an activation in place its
// output; a tensor that is overwritten in place is not counted. Of an attention layer, saved −
// outputs and saved_mask_bytes is what grows with the square of the sequence; kernels that
// recompute the scores (flash attention, selective recompute) do without.

// Consecutive layers between which a pipeline may be cut: inside a block, branches and residual
// sums need tensors from further back.
struct Block {
  std::string name;
  std::size_t first_layer = 0;
  std::size_t layer_count = 0;
  std::int64_t boundary = 0;  // elements that the next block needs from here or from before
};

// What tensor parallelism splits, and what a configuration file of a transformer says.
struct TransformerShape {
  std::int64_t hidden = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;  // 0: as many as heads
  std::int64_t head_dim = 0;  // 0: hidden / heads
  std::int64_t ffn = 0;       // 0: 4 × hidden
  std::int64_t vocab = 0;
  std::int64_t positions = 0;    // rows of a learned table of positions; 0: rotary
  std::int64_t token_types = 0;  // rows of BERT's table of segments
  std::int64_t sequence = 0;     // usual tokens of a sample
  bool gated_mlp = false;        // three matrices and a product instead of two and GELU
  bool rms_norm = false;         // weight only; else weight and bias
  bool post_norm = false;        // norms after the sums, as BERT has them
  bool qk_norm = false;          // a norm of each head's query and key
  bool fused_qkv = false;        // one tensor rather than three
  bool qkv_bias = false;
  bool out_bias = false;
  bool mlp_bias = false;
  bool dropout = false;
  bool causal = false;      // half of the attention's FLOPs are masked away; they are counted
  bool tied_head = false;   // the output projection is the table of embeddings
  bool has_head = true;     // false: ends with the last hidden state
  bool has_pooler = false;  // BERT's linear layer over the first token
  bool operator==(const TransformerShape&) const = default;
};

struct Model {
  std::string name = {};
  std::string description = {};
  std::string source = {};         // where its numbers come from
  std::string family = {};         // resnet, gpt, …; "custom" for a user's own
  std::int64_t inputs = 0;         // elements of a sample
  std::int64_t sequence = 0;       // tokens of a sample; 0 when samples are no sequences
  std::vector<Layer> layers = {};  // in the order of forward
  std::vector<Block> blocks = {};  // cover the layers
  std::optional<TransformerShape> transformer = {};
};

struct LayerTotals {
  std::int64_t parameters = 0;
  std::int64_t tensors = 0;
  std::int64_t buffers = 0;
  std::int64_t forward_flops = 0;
  std::int64_t outputs = 0;
  std::int64_t product_outputs = 0;  // of convolutions and linear layers only
  std::int64_t saved = 0;
  std::int64_t saved_mask_bytes = 0;
  bool operator==(const LayerTotals&) const = default;
};
LayerTotals totals_of(std::span<const Layer> layers);
std::span<const Layer> layers_of(const Model& model, const Block& block);
std::int64_t parameters_of(const Layer& layer);

// Elements of every trained tensor in the order of registration, which is that of forward.
// (Hugging Face's Llama registers the norms of a block after its matrices.)
std::vector<std::int64_t> tensors_of(const Model& model);

}  // namespace twinrun
