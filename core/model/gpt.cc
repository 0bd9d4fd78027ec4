#include <array>

#include "core/model/detail/families.h"
#include "core/model/detail/transformer_rows.h"

namespace twinrun {
namespace {

struct GptSize {
  std::int64_t hidden = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t vocab = 50257;
  std::int64_t positions = 2048;
};

constexpr TransformerShape gpt_shape(GptSize size) {
  return {.hidden = size.hidden,
          .layers = size.layers,
          .heads = size.heads,
          .vocab = size.vocab,
          .positions = size.positions,
          .fused_qkv = true,
          .qkv_bias = true,
          .out_bias = true,
          .mlp_bias = true,
          .dropout = true,
          .causal = true,
          .tied_head = true};
}

// The sizes of Table 1 of Narayanan et al., with the vocabulary padded to 51200.
constexpr TransformerShape megatron_shape(std::int64_t hidden,
                                          std::int64_t layers,
                                          std::int64_t heads) {
  return gpt_shape({hidden, layers, heads, 51200, 2048});
}

constexpr std::array kGpts = {
    TransformerRow{"gpt2", "GPT-2 small", gpt_shape({768, 12, 12, 50257, 1024})},
    TransformerRow{"gpt2-medium", "GPT-2 medium", gpt_shape({1024, 24, 16, 50257, 1024})},
    TransformerRow{"gpt2-large", "GPT-2 large", gpt_shape({1280, 36, 20, 50257, 1024})},
    TransformerRow{"gpt2-xl", "GPT-2 XL", gpt_shape({1600, 48, 25, 50257, 1024})},
    TransformerRow{"gpt3-175b", "GPT-3 175B", gpt_shape({12288, 96, 96})},
};
constexpr std::array kMegatrons = {
    TransformerRow{"megatron-1.7b", "GPT of the Megatron paper", megatron_shape(2304, 24, 24)},
    TransformerRow{"megatron-3.6b", "GPT of the Megatron paper", megatron_shape(3072, 30, 32)},
    TransformerRow{"megatron-7.5b", "GPT of the Megatron paper", megatron_shape(4096, 36, 32)},
    TransformerRow{"megatron-18b", "GPT of the Megatron paper", megatron_shape(6144, 40, 48)},
    TransformerRow{"megatron-39b", "GPT of the Megatron paper", megatron_shape(8192, 48, 64)},
    TransformerRow{"megatron-76b", "GPT of the Megatron paper", megatron_shape(10240, 60, 80)},
    TransformerRow{"megatron-145b", "GPT of the Megatron paper", megatron_shape(12288, 80, 96)},
    TransformerRow{"megatron-310b", "GPT of the Megatron paper", megatron_shape(16384, 96, 128)},
    TransformerRow{"megatron-530b", "GPT of the Megatron paper", megatron_shape(20480, 105, 128)},
    TransformerRow{"megatron-1t", "GPT of the Megatron paper", megatron_shape(25600, 128, 160)},
};

std::vector<CatalogueModel> list_gpts() {
  std::vector<CatalogueModel> list = list_rows(kGpts);
  const std::vector<CatalogueModel> more = list_rows(kMegatrons);
  list.insert(list.end(), more.begin(), more.end());
  return list;
}

std::optional<Model> build_gpt(std::string_view name, std::int64_t sequence) {
  const Model gpt = {
      .source = "Radford et al. 2019 (GPT-2); Brown et al., arXiv:2005.14165 (GPT-3)",
      .family = "gpt"};
  const Model megatron = {.source = "Narayanan et al., arXiv:2104.04473, Table 1", .family = "gpt"};
  std::optional<Model> found = build_row(kGpts, gpt, name, sequence);
  return found ? found : build_row(kMegatrons, megatron, name, sequence);
}

}  // namespace

const ModelFamily kGptFamily = {list_gpts, build_gpt};

}  // namespace twinrun
