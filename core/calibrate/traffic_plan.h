#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/plan/plan.h"

namespace twinrun {

// Between whom, and how much at a time.
struct Traffic {
  struct Pair {
    std::string from;
    std::string to;
  };
  std::vector<Pair> messages;       // of devices that send and receive
  std::vector<Pair> copies;         // between a host and a device
  std::vector<std::string> summed;  // devices that sum arrays; none: nobody does
  std::vector<std::int64_t> message_bytes;
  std::vector<std::int64_t> copy_bytes;
  std::vector<std::int64_t> sum_bytes;
  std::int64_t rounds = 10;  // over all of it
};

// Of the ids in such a plan: rounds in which ways are opened and memory is touched first.
inline constexpr std::int64_t kTrafficWarmUp = 2;

// Every message, copy and sum alone, each after all of the one before it has ended: whatever it
// takes, it took it with the whole machine to itself. Rounds are the steps of the ids.
Plan traffic_plan(const Traffic& traffic);

// Each with its neighbour and the first with all others, both ways: what a machine's ways between
// devices differ by shows, and the pairs stay few.
std::vector<Traffic::Pair> telling_pairs(const std::vector<std::string>& devices);

}  // namespace twinrun
