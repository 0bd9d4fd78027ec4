#pragma once

#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "core/plan/op.h"
#include "core/plan/plan.h"

namespace twinrun::sim {

// What the loop asks of every op, gathered from the plan's columns into sixteen bytes. The next op
// of a thousand devices is never where the last one was, so every column read is a cache miss; the
// plan is asked only for what an op is said to have.
struct OpState {
  std::uint32_t waits = 0;    // ends that must come first
  OpId next = no_id<OpId>();  // in its stream
  std::uint32_t meets = 0;    // of a collective its instance, of a send or recv the other
  OpKind kind = OpKind::kMarker;
  bool has_successors : 1 = false;
  bool has_effects : 1 = false;   // on memory
  bool has_duration : 1 = false;  // given
  bool is_first : 1 = false;      // of its collective's ops
};

std::vector<OpState> op_states(const Plan& plan);

}  // namespace twinrun::sim
