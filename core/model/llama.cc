#include <array>

#include "core/model/detail/families.h"
#include "core/model/detail/transformer_rows.h"

namespace twinrun {
namespace {

struct LlamaSize {
  std::int64_t hidden = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t ffn = 0;
};

constexpr TransformerShape llama_shape(LlamaSize size, std::int64_t vocab, std::int64_t sequence) {
  return {.hidden = size.hidden,
          .layers = size.layers,
          .heads = size.heads,
          .kv_heads = size.kv_heads,
          .ffn = size.ffn,
          .vocab = vocab,
          .sequence = sequence,
          .gated_mlp = true,
          .rms_norm = true,
          .causal = true};
}
constexpr TransformerShape llama_2(LlamaSize size) { return llama_shape(size, 32000, 4096); }
constexpr TransformerShape llama_3(LlamaSize size) { return llama_shape(size, 128256, 8192); }

constexpr std::array kLlamas = {
    TransformerRow{"llama-2-7b", "Llama 2 7B", llama_2({4096, 32, 32, 32, 11008})},
    TransformerRow{"llama-2-13b", "Llama 2 13B", llama_2({5120, 40, 40, 40, 13824})},
    TransformerRow{"llama-2-70b", "Llama 2 70B", llama_2({8192, 80, 64, 8, 28672})},
    TransformerRow{"llama-3-8b", "Llama 3 8B", llama_3({4096, 32, 32, 8, 14336})},
    TransformerRow{"llama-3-70b", "Llama 3 70B", llama_3({8192, 80, 64, 8, 28672})},
    TransformerRow{"llama-3-405b", "Llama 3.1 405B", llama_3({16384, 126, 128, 8, 53248})},
};

std::vector<CatalogueModel> list_llamas() { return list_rows(kLlamas); }

std::optional<Model> build_llama(std::string_view name, std::int64_t sequence) {
  return build_row(kLlamas,
                   {.source = "Touvron et al., arXiv:2307.09288; Llama team, arXiv:2407.21783",
                    .family = "llama"},
                   name, sequence);
}

}  // namespace

const ModelFamily kLlamaFamily = {list_llamas, build_llama};

}  // namespace twinrun
