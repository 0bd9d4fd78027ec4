#pragma once

#include <cstdint>
#include <optional>

#include "core/base/dtype.h"
#include "core/model/model.h"

namespace twinrun {

// One layer's share of one rank, for all samples of a micro-batch, in elements.
struct RankLayer {
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  std::int64_t weights = 0;
  std::int64_t mask_bytes = 0;
  std::int64_t samples = 1;
  std::optional<Gemm> gemm;  // of one sample
};

// Kernels that do the work of several layers.
struct Fusion {
  bool norms = false;      // batch norm, activation and sum: MXNet of NVIDIA, cuDNN's fused kernels
  bool attention = false;  // scores never leave the chip (Dao et al., arXiv:2205.14135)
};

// Bytes that a layer's kernels read and write.
struct LayerTraffic {
  std::int64_t forward = 0;
  std::int64_t backward_input = 0;
  std::int64_t backward_weight = 0;  // of layers with products and tables
};

// Every layer is kernels of its own, as in eager frameworks, unless fused. What each reads and
// writes is in layer_traffic.cc.
LayerTraffic traffic_of(const Layer& layer,
                        const RankLayer& share,
                        Dtype dtype,
                        const Fusion& fusion);

}  // namespace twinrun
