#include "core/trace/steps.h"

#include <algorithm>
#include <charconv>
#include <map>

namespace twinrun {

std::optional<std::uint32_t> step_of(std::string_view id) {
  constexpr std::string_view kWord = "step";
  if (!id.starts_with(kWord)) {
    return std::nullopt;
  }
  id.remove_prefix(kWord.size());
  std::uint32_t step = 0;
  const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), step);
  const bool ended = error == std::errc() && end != id.data() + id.size() && *end == '/';
  return ended ? std::optional(step) : std::nullopt;
}

std::vector<Time> step_times(const Plan& plan, const Trace& trace) {
  std::map<std::uint32_t, Time> end_of;
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
