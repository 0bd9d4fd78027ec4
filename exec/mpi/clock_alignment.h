#pragma once

#include <cstdint>
#include <limits>

#include "exec/mpi/post.h"

namespace twinrun::exec {

// How far a process's steady clock is ahead of the first one's.
struct ClockOffset {
  std::int64_t ahead_ns = 0;
  std::int64_t round_trip_ns = 0;  // of the quickest exchange: the offset is known to half of it
};

// From pairs of messages (RFC 5905, section 8): the first process sends at t0, the other takes it
// in at t1 and answers at t2, the first has the answer at t3. If both ways take equally long, the
// other clock is ahead by ((t1 - t0) + (t2 - t3)) / 2; whatever they take, it is wrong by at most
// half of the time under way, so the quickest exchange is the one to believe.
class OffsetEstimate {
 public:
  void add(std::int64_t t0, std::int64_t t1, std::int64_t t2, std::int64_t t3);
  [[nodiscard]] const ClockOffset& best() const { return best_; }

 private:
  ClockOffset best_{0, std::numeric_limits<std::int64_t>::max()};
};

// Processes of one host have one clock, and need no measurement. Clocks have names, 0 where none is
// known; two of the same name are one unless what was measured speaks against it (the copy of a
// running machine has the names of the first).
ClockOffset believed_offset(const ClockOffset& measured, std::int64_t own, std::int64_t other);

// By all processes together: each learns its own offset. Nobody returns before all have come.
// Throws std::runtime_error that names who does not answer until the deadline.
ClockOffset align_clocks(Post& post, Post::Clock::time_point deadline);

std::int64_t clock_ns(Post::Clock::time_point at);

}  // namespace twinrun::exec
