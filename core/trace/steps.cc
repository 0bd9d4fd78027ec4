#include "core/trace/steps.h"

#include <algorithm>
#include <charconv>
#include <map>

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

std::vector<Time> step_times(const Plan& plan, const Trace& trace) {
  std::map<std::int64_t, Time> end_of;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (const auto step = step_of(plan.id(id_at<OpId>(i)))) {
      Time& end = end_of[*step];
      end = std::max(end, trace.ops[i].end);
    }
  }
  if (end_of.empty()) {
    return {trace.makespan};
  }
  end_of.rbegin()->second = std::max(end_of.rbegin()->second, trace.makespan);
  std::vector<Time> out;
  Time before{};
  for (const auto& [step, end] : end_of) {
    out.push_back(end - before);
    before = end;
  }
  return out;
}

}  // namespace twinrun
