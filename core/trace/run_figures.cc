#include "core/trace/run_figures.h"

#include <algorithm>

#include "core/trace/device_use.h"
#include "core/trace/worker_pace.h"

namespace twinrun {
namespace {

void set_overlap(const TraceIndex& index, const CountedSteps& steps, RunFigures& out) {
  const std::vector<DeviceUse> use = device_use(index, steps);
  const std::vector<DeviceId> training = training_devices(index.plan);
  const auto count = static_cast<double>(steps.spans.size());
  double communication = 0;
  double exposed = 0;
  for (const DeviceId id : training) {
    const DeviceUse& device = use[index_of(id)];
    out.t1_s = std::max(out.t1_s, to_seconds(device.compute) / count);
    out.exposed_communication_s =
        std::max(out.exposed_communication_s, to_seconds(device.exposed) / count);
    communication += to_seconds(device.communication);
    exposed += to_seconds(device.exposed);
  }
  if (communication > 0) {
    out.overlap_pct = 100 * (communication - exposed) / communication;
    out.communication_s = communication / count / static_cast<double>(training.size());
  }
}

}  // namespace

RunFigures run_figures(const TraceIndex& index,
                       const CountedSteps& steps,
                       std::int64_t warmup_steps) {
  RunFigures out;
  if (steps.spans.empty()) {
    return out;
  }
  out.step_s = steps.mean_s();
  out.step_deviation_s = steps.deviation_s();
  if (index.has_independent_workers) {
    out.step_s = worker_pace(index.plan, index.trace, warmup_steps).step_s();
  }
  set_overlap(index, steps, out);
  return out;
}

Breakdown breakdown(const TraceIndex& index, const CountedSteps& steps, std::int64_t warmup_steps) {
  if (index.has_independent_workers) {
    return breakdown(index, warmup_steps);
  }
  return breakdown(index, {steps.begin(), steps.end()},
                   static_cast<std::int64_t>(steps.spans.size()));
}

}  // namespace twinrun
