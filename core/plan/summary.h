#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/plan/plan.h"

namespace twinrun {

struct DeviceLoad {
  DeviceId device = no_id<DeviceId>();
  std::string name;
  std::size_t ops = 0;
  double flops = 0;
  double bytes_sent = 0;  // copies and sends that start here; collectives by their payload
  Time given_time;        // sum of the given durations
};

struct PathSummary {
  std::size_t ops = 0;  // ops that start together count once
  Time given_time;
  std::vector<OpId> path;
};

// What `plan show` prints.
struct PlanSummary {
  std::string name;
  std::string topology;
  std::size_t ops = 0;
  std::size_t edges = 0;
  std::size_t devices = 0;
  std::size_t streams = 0;
  std::size_t groups = 0;
  std::size_t collectives = 0;           // instances, each one op per rank
  std::array<std::size_t, 7> by_kind{};  // in the order of kOpKindNames
  std::size_t with_duration = 0;         // ops with a given time
  std::size_t width = 0;                 // most ops at one level of the run graph
  std::size_t levels = 0;
  std::size_t never_start = 0;  // ops that wait for ever; validate() says why
  PathSummary critical_by_count;
  PathSummary critical_by_duration;  // empty when no op has a given time
  std::vector<DeviceLoad> loads;     // by device
  PlanMemory memory;
};

PlanSummary summarize(const Plan& plan);

}  // namespace twinrun
