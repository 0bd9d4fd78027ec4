#pragma once

#include <vector>

#include "core/base/units.h"
#include "core/plan/plan.h"
#include "core/trace/counted_steps.h"
#include "core/trace/trace.h"
#include "core/trace/trace_index.h"

namespace twinrun {

// Where a device's time went. compute and communication are times in which at least one such op
// ran; exposed is communication without compute at the same time (HTA's definition of overlap
// turned round); idle is what is left when neither nor a host op ran.
struct DeviceUse {
  Time compute{};
  Time communication{};
  Time exposed{};
  Time host{};  // without compute and communication
  Time idle{};
};

bool is_communication(OpKind kind);

std::vector<DeviceUse> device_use(const TraceIndex& index);  // by DeviceId
std::vector<DeviceUse> device_use(const Plan& plan, const Trace& trace);
// By the ops of these steps alone; idle is what all ops leave of the time from the first to the
// last.
std::vector<DeviceUse> device_use(const TraceIndex& index, const CountedSteps& steps);

}  // namespace twinrun
