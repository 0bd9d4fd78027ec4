#pragma once

#include <cstdint>

#include "core/base/dtype.h"
#include "core/strategy/job.h"

namespace twinrun {

// Bytes a trained element needs beside the activations.
struct StateBytes {
  std::int64_t weight = 4;
  std::int64_t gradient = 4;
  std::int64_t optimizer = 0;  // moments, and the fp32 master copy of mixed precision
};
// fp32: 4 + 4 + 0, 4 or 8 for sgd, momentum, adam; mixed: 2 + 2 + 4 more than that, so 16 in all
// for Adam (Rajbhandari et al., arXiv:1910.02054, section 3.1).
StateBytes state_bytes(Dtype dtype, Optimizer optimizer);

// What an update reads and writes of each element, and computes.
struct UpdateWork {
  double flops = 2;
  std::int64_t bytes = 12;
};
UpdateWork update_work(Dtype dtype, Optimizer optimizer);

}  // namespace twinrun
