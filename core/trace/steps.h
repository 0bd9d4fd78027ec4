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

// A step of a run: from the end of the one before (the start of the run for the first) to its own.
struct StepSpan {
  std::int64_t number = 0;
  Time begin{};
  Time end{};  // of the last one, the makespan
  bool operator==(const StepSpan&) const = default;
};

// When each step of a run ended. Reading the names of millions of ops takes its time, so this does
// it once for all that ask.
class StepEnds {
 public:
  StepEnds(const Plan& plan, const Trace& trace);

  // Every step in order. One, the whole run, when the ids name none.
  [[nodiscard]] std::vector<StepSpan> spans() const;
  // How long each took.
  [[nodiscard]] std::vector<Time> times() const;
  [[nodiscard]] bool are_named() const { return !end_of_.empty(); }
  // When all steps numbered below `step` had ended.
  [[nodiscard]] Time before(std::int64_t step) const;
  // The largest number of a step; 0 when the ids name none.
  [[nodiscard]] std::int64_t last() const;

 private:
  std::map<std::int64_t, Time> end_of_;
  Time makespan_;
};

}  // namespace twinrun
