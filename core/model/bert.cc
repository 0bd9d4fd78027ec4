#include <array>

#include "core/model/detail/families.h"
#include "core/model/detail/transformer_rows.h"

namespace twinrun {
namespace {

// Encoder and pooler. The heads of pre-training are not in it: they differ between codes, and look
// at the masked tokens only.
constexpr TransformerShape bert_shape(std::int64_t hidden, std::int64_t layers) {
  return {.hidden = hidden,
          .layers = layers,
          .heads = hidden / 64,
          .vocab = 30522,
          .positions = 512,
          .token_types = 2,
          .post_norm = true,
          .qkv_bias = true,
          .out_bias = true,
          .mlp_bias = true,
          .dropout = true,
          .has_head = false,
          .has_pooler = true};
}

constexpr std::array kBerts = {
    TransformerRow{"bert-base", "BERT base, encoder and pooler", bert_shape(768, 12)},
    TransformerRow{"bert-large", "BERT large, encoder and pooler", bert_shape(1024, 24)},
};

std::vector<CatalogueModel> list_berts() { return list_rows(kBerts); }

std::optional<Model> build_bert(std::string_view name, std::int64_t sequence) {
  return build_row(kBerts, {.source = "Devlin et al., arXiv:1810.04805", .family = "bert"}, name,
                   sequence);
}

}  // namespace

const ModelFamily kBertFamily = {list_berts, build_bert};

}  // namespace twinrun
