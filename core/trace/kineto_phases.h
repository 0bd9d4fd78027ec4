#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/trace/kineto_events.h"

namespace twinrun {

// The phases of a training step that host code can be told apart by.
enum class HostPhase : std::uint8_t { kForward, kBackward, kUpdate };
inline constexpr std::string_view name_of(HostPhase phase) {
  return phase == HostPhase::kForward    ? "forward"
         : phase == HostPhase::kBackward ? "backward"
                                         : "update";
}

// A step as the host saw it: from its annotation to that of the next (its own end, for the last).
struct HostStep {
  std::int64_t number = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t tid = 0;  // of the thread that runs it
};

// When the host was busy with a phase of a step: from the first to the last of its code.
struct HostSpan {
  std::size_t step = 0;  // position
  HostPhase phase = HostPhase::kForward;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

// What a profiler's annotations say about a moment of the host.
class HostTimeline {
 public:
  explicit HostTimeline(const KinetoFile& file);

  [[nodiscard]] const std::vector<HostStep>& steps() const { return steps_; }
  [[nodiscard]] const std::vector<HostSpan>& spans() const { return spans_; }
  // The position of the step that the moment lies in; nothing outside all, 0 when there are none.
  [[nodiscard]] std::optional<std::size_t> step_at(std::int64_t ns) const;
  // The phase of what a thread does then: that of the innermost code around it; else backward on
  // threads of autograd, and forward.
  [[nodiscard]] HostPhase phase_at(std::int64_t tid, std::int64_t ns) const;

 private:
  struct Code {
    std::int64_t tid = 0;
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    HostPhase phase = HostPhase::kForward;
    std::int32_t around = -1;  // position of the code that this is inside of
  };

  void find_steps(const KinetoFile& file);
  void find_code(const KinetoFile& file);
  void find_spans();

  std::vector<HostStep> steps_;
  std::vector<Code> code_;  // by thread and start
  std::vector<HostSpan> spans_;
};

}  // namespace twinrun
