#include "core/trace/steps.h"

#include <algorithm>
#include <charconv>

namespace twinrun {

namespace {

// The letters of "step12/" with the number, 0 when the id has no step.
std::size_t step_prefix(std::string_view id, std::int64_t& step) {
  constexpr std::string_view kWord = "step";
  if (!id.starts_with(kWord)) {
    return 0;
  }
  const char* end = id.data() + id.size();
  const auto [rest, error] = std::from_chars(id.data() + kWord.size(), end, step);
  const bool is_step = error == std::errc() && step >= 0 && rest != end && *rest == '/';
  return is_step ? static_cast<std::size_t>(rest - id.data()) + 1 : 0;
}

}  // namespace

std::optional<std::int64_t> step_of(std::string_view id) {
  std::int64_t step = 0;
  return step_prefix(id, step) > 0 ? std::optional(step) : std::nullopt;
}

std::string_view name_within_step(std::string_view id) {
  std::int64_t step = 0;
  const std::string_view rest = id.substr(step_prefix(id, step));
  const std::string_view name = rest.substr(0, rest.rfind('@'));
  return name.empty() ? id : name;
}

StepEnds::StepEnds(const Plan& plan, const Trace& trace) : makespan_(trace.makespan) {
  std::string_view prefix;  // of the op before: ops of a step stand together
  Time* end = nullptr;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const std::string_view id = plan.id(id_at<OpId>(i));
    if (end == nullptr || !id.starts_with(prefix)) {
      std::int64_t step = 0;
      prefix = id.substr(0, step_prefix(id, step));
      end = prefix.empty() ? nullptr : &end_of_[step];
    }
    if (end != nullptr) {
      *end = std::max(*end, trace.ops[i].end);
    }
  }
}

std::vector<StepSpan> StepEnds::spans() const {
  if (end_of_.empty()) {
    return {{0, Time{}, makespan_}};
  }
  std::vector<StepSpan> out;
  Time before{};
  for (const auto& [step, end] : end_of_) {
    const Time until = step == last() ? std::max(end, makespan_) : end;
    out.push_back({step, before, until});
    before = end;
  }
  return out;
}

std::vector<Time> StepEnds::times() const {
  std::vector<Time> out;
  for (const StepSpan& span : spans()) {
    out.push_back(span.end - span.begin);
  }
  return out;
}

Time StepEnds::before(std::int64_t step) const {
  Time last_end{};
  for (const auto& [number, end] : end_of_) {
    last_end = number < step ? std::max(last_end, end) : last_end;
  }
  return last_end;
}

std::int64_t StepEnds::last() const { return end_of_.empty() ? 0 : end_of_.rbegin()->first; }

}  // namespace twinrun
