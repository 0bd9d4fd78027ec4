#include "core/trace/kineto_phases.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>
#include <utility>

namespace twinrun {
namespace {

constexpr std::string_view kStepWord = "ProfilerStep#";
constexpr std::string_view kZeroGradient = "Optimizer.zero_grad";

bool mentions(std::string_view name, std::string_view word) {
  return name.find(word) != std::string_view::npos;
}

std::optional<HostPhase> phase_of_code(KinetoCategory category, std::string_view name) {
  if (category == KinetoCategory::kCpuOp) {
    return HostPhase::kBackward;  // only autograd's were kept
  }
  if (category != KinetoCategory::kAnnotation || name.starts_with(kStepWord) ||
      name.starts_with("nccl:")) {
    return std::nullopt;
  }
  if (mentions(name, "ptimizer")) {
    return HostPhase::kUpdate;
  }
  if (mentions(name, "backward")) {
    return HostPhase::kBackward;
  }
  return mentions(name, "forward") ? std::optional(HostPhase::kForward) : std::nullopt;
}

}  // namespace

HostTimeline::HostTimeline(const KinetoFile& file) {
  find_steps(file);
  find_code(file);
  find_spans();
}

void HostTimeline::find_steps(const KinetoFile& file) {
  for (const KinetoSlice& slice : file.slices) {
    const std::string_view name = file.name(slice);
    if (slice.category != KinetoCategory::kAnnotation || !name.starts_with(kStepWord)) {
      continue;
    }
    HostStep step{0, slice.start_ns, slice.end_ns, slice.tid};
    const char* const end = name.data() + name.size();
    const auto [rest, error] = std::from_chars(name.data() + kStepWord.size(), end, step.number);
    if (error == std::errc() && step.number >= 0) {
      steps_.push_back(step);
    }
  }
  std::sort(steps_.begin(), steps_.end(), [](const HostStep& x, const HostStep& y) {
    return std::tie(x.start_ns, x.number) < std::tie(y.start_ns, y.number);
  });
  const auto is_same = [](const HostStep& x, const HostStep& y) { return x.number == y.number; };
  steps_.erase(std::unique(steps_.begin(), steps_.end(), is_same), steps_.end());
  for (std::size_t i = 0; i + 1 < steps_.size(); ++i) {
    steps_[i].end_ns = steps_[i + 1].start_ns;
  }
}

void HostTimeline::find_code(const KinetoFile& file) {
  for (const KinetoSlice& slice : file.slices) {
    if (const auto phase = phase_of_code(slice.category, file.name(slice))) {
      code_.push_back({slice.tid, slice.start_ns, slice.end_ns, *phase, -1});
      // Clearing gradients comes first in a step; as part of the update it would fill all of it.
      const bool is_span = !file.name(slice).starts_with(kZeroGradient);
      const std::optional<std::size_t> step = step_at(slice.start_ns);
      if (is_span && step) {
        spans_.push_back({*step, *phase, slice.start_ns, slice.end_ns});
      }
    }
  }
  std::sort(code_.begin(), code_.end(), [](const Code& x, const Code& y) {
    return std::tie(x.tid, x.start_ns, y.end_ns) < std::tie(y.tid, y.start_ns, x.end_ns);
  });
  std::vector<std::int32_t> open;
  for (std::size_t i = 0; i < code_.size(); ++i) {
    while (!open.empty() &&
           (code_[static_cast<std::size_t>(open.back())].tid != code_[i].tid ||
            code_[static_cast<std::size_t>(open.back())].end_ns <= code_[i].start_ns)) {
      open.pop_back();
    }
    code_[i].around = open.empty() ? -1 : open.back();
    open.push_back(static_cast<std::int32_t>(i));
  }
}

// One span a phase and step, one after the other: where code of two phases overlaps, as autograd's
// threads do with the main one, the later begins when the earlier ends.
void HostTimeline::find_spans() {
  std::map<std::pair<std::size_t, HostPhase>, HostSpan> whole;
  for (const HostSpan& span : spans_) {
    const auto [at, is_new] = whole.try_emplace({span.step, span.phase}, span);
    at->second.start_ns = std::min(at->second.start_ns, span.start_ns);
    at->second.end_ns = std::max(at->second.end_ns, span.end_ns);
  }
  spans_.clear();
  std::int64_t end_ns = 0;
  for (auto& [key, span] : whole) {
    span.start_ns = spans_.empty() ? span.start_ns : std::max(span.start_ns, end_ns);
    span.end_ns = std::max(span.end_ns, span.start_ns);
    end_ns = span.end_ns;
    spans_.push_back(span);
  }
}

std::optional<std::size_t> HostTimeline::step_at(std::int64_t ns) const {
  if (steps_.empty()) {
    return 0;
  }
  const auto after = std::upper_bound(
      steps_.begin(), steps_.end(), ns,
      [](std::int64_t time, const HostStep& step) { return time < step.start_ns; });
  if (after == steps_.begin() || ns >= (after - 1)->end_ns) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(after - 1 - steps_.begin());
}

HostPhase HostTimeline::phase_at(std::int64_t tid, std::int64_t ns) const {
  const auto after = std::upper_bound(code_.begin(), code_.end(), std::pair(tid, ns),
                                      [](const auto& moment, const Code& code) {
                                        return moment < std::pair(code.tid, code.start_ns);
                                      });
  auto at = static_cast<std::int32_t>(after - code_.begin()) - 1;
  while (at >= 0 && code_[static_cast<std::size_t>(at)].tid == tid) {
    const Code& code = code_[static_cast<std::size_t>(at)];
    if (code.end_ns > ns) {
      return code.phase;
    }
    at = code.around;
  }
  const std::optional<std::size_t> step = step_at(ns);
  const bool is_main = steps_.empty() || !step || steps_[*step].tid == tid;
  return is_main ? HostPhase::kForward : HostPhase::kBackward;
}

}  // namespace twinrun
