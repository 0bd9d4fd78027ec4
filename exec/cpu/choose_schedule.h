#pragma once

#include <cstdint>
#include <string>

#include "core/collective/algorithms.h"
#include "core/plan/plan.h"

namespace twinrun::exec {

struct ChosenSchedule {
  std::string algorithm;
  CollectiveSchedule schedule;
};

// The plan's algorithm for a collective of so many elements; "auto" is recursive doubling for small
// all-reduces, else the ring, or the first that can where it cannot. CannotRun with the reason when
// the one asked for cannot.
ChosenSchedule choose_schedule(const Plan& plan, InstanceId instance, std::int64_t elements);

}  // namespace twinrun::exec
