#include "exec/training/step_reports.h"

#include <cstddef>
#include <cstdint>

namespace twinrun::exec {

RunOptions with_step_reports(const ExecuteOptions& options, const TrainingWork* training) {
  RunOptions out = options.run;
  if (training == nullptr || !options.on_step) {
    return out;
  }
  out.progress = [&options, training](std::size_t done, std::size_t of) {
    if (const std::int64_t step = training->newest_step(); step >= 0) {
      options.on_step({step, training->loss_of_step(step)});
    }
    if (options.run.progress) {
      options.run.progress(done, of);
    }
  };
  return out;
}

}  // namespace twinrun::exec
