#pragma once

#include <cstdint>

#include "core/model/model.h"

namespace twinrun {

// The shape with every default written out.
TransformerShape completed(TransformerShape shape);

// The layers of a transformer for samples of so many tokens (0: shape.sequence).
// The head carries name, description, source and family.
Model build_transformer(Model head, const TransformerShape& shape, std::int64_t sequence);

// Whether the counts of such a model fit 64 bits; build_transformer() takes no other.
bool counts_fit(const TransformerShape& shape, std::int64_t sequence);

}  // namespace twinrun
