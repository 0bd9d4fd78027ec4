#include "core/strategy/schedule.h"

#include <algorithm>

namespace twinrun {
namespace {

StageAction pass(ActionKind kind, std::int64_t step, std::int64_t chunk, std::int64_t micro) {
  return {kind, step, chunk, micro, false};
}

// Position `index` of a stage's forwards: groups of `stages` micro-batches go through chunk 0, then
// through chunk 1, …; backwards take the chunks in reverse.
StageAction nth_forward(const ScheduleShape& shape, std::int64_t step, std::int64_t index) {
  const std::int64_t group = shape.stages * shape.virtual_stages;
  return pass(ActionKind::kForward, step, index % group / shape.stages,
              index / group * shape.stages + index % shape.stages);
}

StageAction nth_backward(const ScheduleShape& shape, std::int64_t step, std::int64_t index) {
  StageAction action = nth_forward(shape, step, index);
  action.kind = ActionKind::kBackward;
  action.chunk = shape.virtual_stages - 1 - action.chunk;
  return action;
}

// Marks the last backward of each chunk, and ends the step.
void close_step(const ScheduleShape& shape,
                std::int64_t step,
                std::size_t first,
                std::vector<StageAction>& out) {
  for (std::int64_t chunk = 0; chunk < shape.virtual_stages; ++chunk) {
    const auto last =
        std::find_if(out.rbegin(), out.rend() - static_cast<std::ptrdiff_t>(first),
                     [&](const StageAction& action) {
                       return action.kind == ActionKind::kBackward && action.chunk == chunk;
                     });
    last->completes_gradients = true;
  }
  out.push_back({ActionKind::kUpdate, step, 0, 0, false});
}

}  // namespace

std::vector<StageAction> gpipe_schedule(const ScheduleShape& shape, std::int64_t /*stage*/) {
  std::vector<StageAction> out;
  for (std::int64_t step = 0; step < shape.steps; ++step) {
    const std::size_t first = out.size();
    for (std::int64_t chunk = 0; chunk < shape.virtual_stages; ++chunk) {
      for (std::int64_t micro = 0; micro < shape.micro_batches; ++micro) {
        out.push_back(pass(ActionKind::kForward, step, chunk, micro));
      }
    }
    for (std::int64_t chunk = shape.virtual_stages; chunk-- > 0;) {
      for (std::int64_t micro = shape.micro_batches; micro-- > 0;) {
        out.push_back(pass(ActionKind::kBackward, step, chunk, micro));
      }
    }
    close_step(shape, step, first, out);
  }
  return out;
}

std::vector<StageAction> sequential_schedule(const ScheduleShape& shape, std::int64_t /*stage*/) {
  std::vector<StageAction> out;
  for (std::int64_t step = 0; step < shape.steps; ++step) {
    const std::size_t first = out.size();
    for (std::int64_t micro = 0; micro < shape.micro_batches; ++micro) {
      for (std::int64_t chunk = 0; chunk < shape.virtual_stages; ++chunk) {
        out.push_back(pass(ActionKind::kForward, step, chunk, micro));
      }
      for (std::int64_t chunk = shape.virtual_stages; chunk-- > 0;) {
        out.push_back(pass(ActionKind::kBackward, step, chunk, micro));
      }
    }
    close_step(shape, step, first, out);
  }
  return out;
}

std::vector<StageAction> one_f_one_b_schedule(const ScheduleShape& shape, std::int64_t stage) {
  const std::int64_t passes = shape.micro_batches * shape.virtual_stages;
  const std::int64_t warm_up =
      shape.virtual_stages == 1 ? std::min(passes, shape.stages - 1 - stage)
                                : std::min(passes, 2 * (shape.stages - 1 - stage) +
                                                       (shape.virtual_stages - 1) * shape.stages);
  std::vector<StageAction> out;
  for (std::int64_t step = 0; step < shape.steps; ++step) {
    const std::size_t first = out.size();
    for (std::int64_t i = 0; i < warm_up; ++i) {
      out.push_back(nth_forward(shape, step, i));
    }
    for (std::int64_t i = warm_up; i < passes; ++i) {
      out.push_back(nth_forward(shape, step, i));
      out.push_back(nth_backward(shape, step, i - warm_up));
    }
    for (std::int64_t i = passes - warm_up; i < passes; ++i) {
      out.push_back(nth_backward(shape, step, i));
    }
    close_step(shape, step, first, out);
  }
  return out;
}

}  // namespace twinrun
