#pragma once

#include <span>

#include "core/base/units.h"

namespace twinrun {

// How long a message of so many bytes took.
struct MessageTime {
  double bytes = 0;
  double seconds = 0;
};

// seconds = latency + bytes / bandwidth, as the simulator has it.
struct MessageCost {
  double latency_s = 0;
  double bytes_per_s = 0;        // 0 when the data cannot tell
  double spread_pct = 0;         // middle half of (measured / fitted)
  bool knows_latency = false;    // messages small enough to show it
  bool knows_bandwidth = false;  // … and large enough
};

// Fits relative errors, so that small messages count as much as large ones: Huber's weights, which
// leave a tenth of wild values without effect. What the sizes cannot show is said, not made up: a
// bandwidth from messages that are all latency, or the other way round.
MessageCost fit_message_cost(std::span<const MessageTime> times);

}  // namespace twinrun
