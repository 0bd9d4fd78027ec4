#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/units.h"

namespace twinrun {

struct BucketLimits {
  Bytes first{std::int64_t{1} << 20};    // PyTorch's defaults: 1 MiB,
  Bytes others{std::int64_t{25} << 20};  // and bucket_cap_mb, which are MiB
  std::int64_t element_bytes = 4;
};

// Gradients as PyTorch's DistributedDataParallel groups them: elements of each bucket in the order
// of its all-reduces. Tensors (in order of registration) are taken from the last to the first; a
// bucket closes once it has reached its limit, so buckets overshoot.
std::vector<std::int64_t> ddp_buckets(std::span<const std::int64_t> tensors,
                                      const BucketLimits& limits = {});

}  // namespace twinrun
