#pragma once

#include <cstdint>
#include <vector>

#include "core/base/units.h"
#include "core/plan/plan.h"
#include "core/trace/intervals.h"
#include "core/trace/trace.h"
#include "core/trace/trace_index.h"

namespace twinrun {

// Where the time of a step went on the mean device that trains; the parts add up to the step. An
// instant belongs to the first that fits: compute (update, recompute and the rest by the names of
// the ops), communication that runs, host work; else it is a wait, named after what the next op of
// the device waited for:
//   a message of a pipeline     imbalance as far as others compute more, the rest is the bubble
//   ranks of a collective       imbalance
//   a server, the input         server_wait, input_wait
//   a host op of another device host: a process that has still to launch
//   nothing known               idle
struct Breakdown {
  Time compute{};
  Time recompute{};
  Time exposed_communication{};
  Time bubble{};
  Time imbalance{};
  Time input_wait{};
  Time server_wait{};
  Time update{};
  Time host{};
  Time idle{};
  Time step{};  // the sum
};

// Of the steps after the first `warmup_steps`. Where workers do not wait for each other
// (worker_pace.h) it is the mean over steps rather than devices, of the time while all work.
Breakdown breakdown(const TraceIndex& index, std::int64_t warmup_steps = 0);
Breakdown breakdown(const Plan& plan, const Trace& trace, std::int64_t warmup_steps = 0);
// Of so many steps that fill a part of the run.
Breakdown breakdown(const TraceIndex& index, const Interval& window, std::int64_t steps);

// Devices with forward passes; all when no op is named so. Others read input or serve.
std::vector<DeviceId> training_devices(const Plan& plan);

}  // namespace twinrun
