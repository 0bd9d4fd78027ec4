#pragma once

#include <span>

namespace twinrun {

// The speeds NCCL gives a channel, GB/s, fastest first (cuda-nccl-cpu 3.2): inside one machine, or
// between several. sm: compute capability times ten.
[[nodiscard]] std::span<const double> channel_speeds(int sm, bool network);

// The fastest of them up to `most`; 0 when all are faster.
[[nodiscard]] double fastest_listed(std::span<const double> speeds, double most);

}  // namespace twinrun
