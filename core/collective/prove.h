#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/collective/algorithms.h"
#include "core/collective/schedule.h"

namespace twinrun {

// What running a schedule on sets of contributors has shown.
struct Proof {
  std::string flaw;  // the first one, as a sentence; "" when there is none
  std::uint64_t messages = 0;
  std::vector<std::int64_t> sent;  // bytes by each participant
  std::vector<std::int64_t> received;
  std::vector<std::uint64_t> in_step;  // messages of each step
};

// Where transfers come from; replaces what `out` held.
using TransferSource =
    std::function<void(std::uint32_t rank, std::uint32_t step, StepTransfers& out)>;

inline constexpr std::uint32_t kMostProvableRanks = 64;  // contributors are bits of a word

// Runs the schedule as a runner would (every rank at its own pace, a message moves when both sides
// have come to it, sends read the array as it was before the step) and holds that
//  - the two sides of a message agree on chunk, place, action and step, and nobody waits for ever;
//  - nothing is sent that is not there yet, and no copy lands on anything else of its step;
//  - at the end every rank holds what the kind promises, every contribution exactly once.
Proof prove(const CollectiveSchedule& schedule);
Proof prove(const CollectiveSpec& spec,
            std::uint32_t participants,
            std::uint32_t steps,
            const TransferSource& transfers);

}  // namespace twinrun
