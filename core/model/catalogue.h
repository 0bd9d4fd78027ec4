#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/model.h"

namespace twinrun {

struct CatalogueModel {
  std::string name;  // with capital letters where any number may stand: amoebanet-d-L-D
  std::string description;
};
// In the order of the families, small to large.
std::vector<CatalogueModel> catalogue_models();

// The model of that name, or nothing. Transformers are built for samples of so many tokens (0: as
// many as usual); other models ignore it. Nothing either when the
// sequence is so long that counts would leave 64 bits.
std::optional<Model> catalogue_model(std::string_view name, std::int64_t sequence = 0);

}  // namespace twinrun
