#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/plan/plan.h"
#include "core/trace/steps.h"
#include "core/trace/trace.h"

namespace twinrun {

// One run to be compared: what ran and when, and how many steps come before those that count.
struct RunView {
  const Plan& plan;
  const Trace& trace;
  std::int64_t warmup_steps = 0;
};

// Which steps of a run count: those after the warm-up (all when there are no others), up to the
// first of which an op did not run.
struct CountedSteps {
  std::vector<StepSpan> spans;  // in order
  bool are_named = false;       // false: the ids name no steps, and the whole run is one
  std::int64_t incomplete = 0;  // steps of which ops did not run

  [[nodiscard]] Time begin() const { return spans.empty() ? Time{} : spans.front().begin; }
  [[nodiscard]] Time end() const { return spans.empty() ? Time{} : spans.back().end; }
  [[nodiscard]] double mean_s() const;       // 0 without any
  [[nodiscard]] double deviation_s() const;  // standard deviation of the sample; 0 of one
  // The position of a step among them; their number when it does not count.
  [[nodiscard]] std::size_t position_of(std::int64_t number) const;
  // The same for the step of an op, by its id.
  [[nodiscard]] std::size_t position_of(std::string_view id) const;
};
CountedSteps counted_steps(const RunView& run);

}  // namespace twinrun
