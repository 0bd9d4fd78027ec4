#pragma once

#include <cstddef>

#include "core/plan/plan.h"

namespace twinrun {

// The shape the figures are quoted for: data-parallel training on `ranks` devices. Each step of
// each rank has 24 layers: forward (chained), backward (chained, frees activations), an all-reduce
// of the layer's gradients in its own stream after each backward, and one update after all of them:
// 73 ops and 24 + 24 + 24 + 24 edges, so about 1.3 edges an op. Ids look like
// step3/backward/layer7@rank5.
Plan training_plan(std::size_t ops_at_least, std::size_t ranks);

}  // namespace twinrun
