#pragma once

#include "tests/substitute/substitute.h"

namespace substitute {

// Where times come from. Virtual: every stream and every host thread has a time of its own that
// only moves by what was asked of it; see README.md. Real: the machine's steady clock.

[[nodiscard]] bool clock_is_virtual();
[[nodiscard]] Picoseconds real_time();  // since this was first called

// What the task costs on the virtual clock; 0 on the real one.
[[nodiscard]] Picoseconds cost_of(const Task& task);
[[nodiscard]] float nccl_estimate(const std::vector<Task>& tasks);
[[nodiscard]] bool query_joins_host();

// This thread has waited for something that was over then.
void join_host(Picoseconds time);

void forget_clock();

}  // namespace substitute
