#include "core/model/ddp_buckets.h"

namespace twinrun {

std::vector<std::int64_t> ddp_buckets(std::span<const std::int64_t> tensors,
                                      const BucketLimits& limits) {
  std::vector<std::int64_t> buckets;
  std::int64_t open = 0;
  for (auto tensor = tensors.rbegin(); tensor != tensors.rend(); ++tensor) {
    open += *tensor;
    const Bytes limit = buckets.empty() ? limits.first : limits.others;
    if (open * limits.element_bytes >= limit.count) {
      buckets.push_back(open);
      open = 0;
    }
  }
  if (open > 0) {
    buckets.push_back(open);
  }
  return buckets;
}

}  // namespace twinrun
