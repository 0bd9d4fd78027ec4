#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/plan/op.h"

namespace twinrun {

// When an op could have begun, began and ended. It is ready when it is at the head of its stream
// and what it depends on is done; from then to start it waits for the others of its collective or
// message.
struct OpTimes {
  Time ready{};
  Time start{};
  Time end{};
  bool operator==(const OpTimes&) const = default;
};

// How a collective was done.
struct CollectiveRun {
  InstanceId instance{};
  std::string algorithm;
  std::string protocol;    // NCCL's; "" for a schedule of ours
  std::string bottleneck;  // name of the link that limited it; "" when none did
  int channels = 0;        // NCCL's; 0 for a schedule of ours
  bool operator==(const CollectiveRun&) const = default;
};

// What a link of the topology carried.
struct LinkUse {
  std::string link;  // "gpu0 -> nvswitch0"
  double bytes = 0;
  double busy_pct = 0;  // of the makespan, at full capacity
  bool operator==(const LinkUse&) const = default;
};

// What happened when a plan ran: the same columns, by the plan's op ids, whether it was simulated
// or executed. Ops that never started have end < start.
struct Trace {
  std::string source;                      // "simulated" or "executed"
  std::vector<OpTimes> ops;                // by OpId
  std::vector<CollectiveRun> collectives;  // by InstanceId
  std::vector<LinkUse> links;              // by LinkId; empty when not known
  Time makespan{};
  std::string failure = {};  // why it ended early; "" when it ran to its end
};

}  // namespace twinrun
