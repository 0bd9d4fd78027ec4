#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/units.h"
#include "core/plan/plan.h"
#include "core/trace/trace.h"

namespace twinrun {

// The training step an op belongs to: 3 of "step3/backward/layer1@rank0"; nothing without one.
std::optional<std::int64_t> step_of(std::string_view id);
// "backward/layer1" of the same: equal over steps and ranks, so that viewers add up and colour
// alike.
std::string_view name_within_step(std::string_view id);

// When each step of a run ended. Reading the names of millions of ops takes its time, so this does
// it once for all that ask.
class StepEnds {
 public:
  StepEnds(const Plan& plan, const Trace& trace);

  // How long each step took: from the end of the one before (the start of the run for the first) to
  // its own. One step, the whole run, when the ids name none.
  [[nodiscard]] std::vector<Time> times() const;
  // When all steps numbered below `step` had ended.
  [[nodiscard]] Time before(std::int64_t step) const;
  // The largest number of a step; 0 when the ids name none.
  [[nodiscard]] std::int64_t last() const;

 private:
  std::map<std::int64_t, Time> end_of_;
  Time makespan_;
};

}  // namespace twinrun
