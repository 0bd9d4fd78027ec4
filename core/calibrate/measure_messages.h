#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/calibrate/message_cost.h"
#include "core/calibrate/run_plan.h"

namespace twinrun {

// How long a thread takes to wake when what it waits for has ended: the median over turns that two
// devices take.
double measure_wake(const RunPlan& run, const std::vector<std::string>& devices);

struct MessageSizes {
  std::vector<std::int64_t> bytes = {4, 1 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20};
  int rounds = 3;
  // Threads of one process: a message is what its receiver takes when both are awake, and whoever
  // waits has to be woken besides (measure_wake). Between processes waking is a part of it.
  bool between_threads = false;
};

// Two devices that send to each other in turn, and that sum arrays over a ring of two, between them
// passing over memory as training does. One plan a round, with all sizes in it: some backends take
// a second to start one.
std::vector<MessageTime> measure_messages(const RunPlan& run,
                                          const std::vector<std::string>& devices,
                                          const MessageSizes& sizes,
                                          const MeasureProgress& progress = {});

// What messages cost those that compute beside them.
struct OverlapCost {
  double slowdown = 1;          // of compute while messages come and go
  double moved_per_core_s = 0;  // bytes received for each second of core that compute lost; 0 when
                                // it lost nothing that can be seen
};

// Products on every device, alone and beside sums over a ring of all of them.
OverlapCost measure_overlap(const RunPlan& run,
                            const std::vector<std::string>& devices,
                            const MessageCost& message,
                            const MeasureProgress& progress = {});

}  // namespace twinrun
