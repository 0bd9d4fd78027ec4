#include "core/trace/counted_steps.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/trace/trace_rows.h"

namespace twinrun {
namespace {

// Steps of which an op did not run. What belongs to no step is not asked for where there are steps.
std::set<std::int64_t> broken_steps(const RunView& run, bool are_named) {
  std::set<std::int64_t> out;
  for (std::size_t i = 0; i < run.plan.size(); ++i) {
    if (!has_run(run.trace.ops[i])) {
      const auto step = step_of(run.plan.id(id_at<OpId>(i)));
      if (step || !are_named) {
        out.insert(step.value_or(0));
      }
    }
  }
  return out;
}

double length_s(const StepSpan& span) { return to_seconds(span.end - span.begin); }

}  // namespace

double CountedSteps::mean_s() const {
  return spans.empty() ? 0 : to_seconds(end() - begin()) / static_cast<double>(spans.size());
}

double CountedSteps::deviation_s() const {
  if (spans.size() < 2) {
    return 0;
  }
  double squares = 0;
  for (const StepSpan& span : spans) {
    squares += std::pow(length_s(span) - mean_s(), 2);
  }
  return std::sqrt(squares / static_cast<double>(spans.size() - 1));
}

std::size_t CountedSteps::position_of(std::int64_t number) const {
  const auto at = std::lower_bound(
      spans.begin(), spans.end(), number,
      [](const StepSpan& span, std::int64_t wanted) { return span.number < wanted; });
  return at != spans.end() && at->number == number ? static_cast<std::size_t>(at - spans.begin())
                                                   : spans.size();
}

std::size_t CountedSteps::position_of(std::string_view id) const {
  if (!are_named) {
    return 0;
  }
  const auto step = step_of(id);
  return step ? position_of(*step) : spans.size();
}

CountedSteps counted_steps(const RunView& run) {
  const StepEnds ends(run.plan, run.trace);
  const std::vector<StepSpan> all = ends.spans();
  CountedSteps out;
  out.are_named = ends.are_named();
  const std::set<std::int64_t> broken = broken_steps(run, out.are_named);
  out.incomplete = static_cast<std::int64_t>(broken.size());
  const std::int64_t first = all.back().number >= run.warmup_steps ? run.warmup_steps : 0;
  for (const StepSpan& span : all) {
    if (broken.contains(span.number)) {
      break;  // what comes later began while this one hung
    }
    if (span.number >= first) {
      out.spans.push_back(span);
    }
  }
  return out;
}

}  // namespace twinrun
