#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/ids.h"
#include "core/collective/algorithms.h"
#include "core/plan/op.h"

namespace twinrun::sim {

// A collective under way, message by message. Each participant is in a step of its own; a message
// goes when both ends have come to its step, and a participant moves on when its messages are done.
struct StepwiseRun {
  static constexpr std::uint32_t kNotYet = ~std::uint32_t{0};

  const CollectiveSchedule* schedule = nullptr;
  const std::vector<VertexId>* places = nullptr;  // of participants
  std::vector<OpId> op;                           // by rank
  std::vector<std::uint32_t> step;                // by participant; kNotYet before the first
  std::vector<std::uint32_t> outstanding;         // by participant: messages of its step
  std::size_t unfinished = 0;                     // participants
};

}  // namespace twinrun::sim
