#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/model/model.h"

namespace twinrun {

// The members of "transformer" in a model's file, for reading and writing.
struct TransformerNumber {
  std::string_view key;
  std::int64_t TransformerShape::*member;
  std::int64_t least;
  std::int64_t most;
};
inline constexpr std::array kTransformerNumbers = {
    TransformerNumber{"hidden", &TransformerShape::hidden, 1, 10'000'000},
    TransformerNumber{"layers", &TransformerShape::layers, 1, 10'000},
    TransformerNumber{"heads", &TransformerShape::heads, 1, 1'000'000},
    TransformerNumber{"vocab", &TransformerShape::vocab, 1, 1'000'000'000},
    TransformerNumber{"kv_heads", &TransformerShape::kv_heads, 0, 1'000'000},
    TransformerNumber{"head_dim", &TransformerShape::head_dim, 0, 1'000'000},
    TransformerNumber{"ffn", &TransformerShape::ffn, 0, 100'000'000},
    TransformerNumber{"positions", &TransformerShape::positions, 0, 1'000'000'000},
    TransformerNumber{"token_types", &TransformerShape::token_types, 0, 1'000'000},
    TransformerNumber{"sequence", &TransformerShape::sequence, 0, 1'000'000'000},
};
inline constexpr std::size_t kRequiredTransformerNumbers = 4;  // the first ones

struct TransformerFlag {
  std::string_view key;
  bool TransformerShape::*member;
};
inline constexpr std::array kTransformerFlags = {
    TransformerFlag{"gated_mlp", &TransformerShape::gated_mlp},
    TransformerFlag{"rms_norm", &TransformerShape::rms_norm},
    TransformerFlag{"post_norm", &TransformerShape::post_norm},
    TransformerFlag{"qk_norm", &TransformerShape::qk_norm},
    TransformerFlag{"fused_qkv", &TransformerShape::fused_qkv},
    TransformerFlag{"qkv_bias", &TransformerShape::qkv_bias},
    TransformerFlag{"out_bias", &TransformerShape::out_bias},
    TransformerFlag{"mlp_bias", &TransformerShape::mlp_bias},
    TransformerFlag{"dropout", &TransformerShape::dropout},
    TransformerFlag{"causal", &TransformerShape::causal},
    TransformerFlag{"tied_head", &TransformerShape::tied_head},
    TransformerFlag{"has_head", &TransformerShape::has_head},
    TransformerFlag{"has_pooler", &TransformerShape::has_pooler},
};

}  // namespace twinrun
