#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace twinrun {

enum class ActionKind : std::uint8_t { kForward, kBackward, kUpdate };

// One thing a rank does after the other: a pass of a micro-batch through one of its chunks, or the
// end of a step.
struct StageAction {
  ActionKind kind = ActionKind::kForward;
  std::int64_t step = 0;
  std::int64_t chunk = 0;            // of this stage, 0 to virtual_stages − 1
  std::int64_t micro = 0;            // of its step
  bool completes_gradients = false;  // backward: the last of its chunk in the step
  bool operator==(const StageAction&) const = default;
};

struct ScheduleShape {
  std::int64_t stages = 1;
  std::int64_t virtual_stages = 1;
  std::int64_t micro_batches = 1;
  std::int64_t steps = 1;
};

// The program of a stage over all steps. Stage p, chunk k holds part k · stages + p of the model.
using Schedule = std::function<std::vector<StageAction>(const ScheduleShape&, std::int64_t stage)>;

// All forward, then all backward, last micro-batch first (Huang et al., arXiv:1811.06965).
std::vector<StageAction> gpipe_schedule(const ScheduleShape& shape, std::int64_t stage);
// After a warm-up of stages − 1 − stage, one forward and one backward in turn (Narayanan et al.,
// arXiv:2104.04473); with several chunks a stage, interleaved in groups of `stages` micro-batches.
std::vector<StageAction> one_f_one_b_schedule(const ScheduleShape& shape, std::int64_t stage);

// One micro-batch after the other, forward and back: nothing overlaps between stages.
std::vector<StageAction> sequential_schedule(const ScheduleShape& shape, std::int64_t stage);

}  // namespace twinrun
