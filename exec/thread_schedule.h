#pragma once

#include <cstddef>
#include <vector>

namespace twinrun::exec {

// Cores that this thread may run on, by the operating system's numbers.
std::vector<std::size_t> allowed_cores();

// This thread runs on that core only. False where the system does not let it.
bool stay_on_core(std::size_t core);

// Asks the kernel to let this thread run soon after it wakes, and never for long: what a thread
// that communicates needs beside threads that compute. Without it such a thread waits for the next
// tick (up to 4 ms) whenever there are more threads than cores. Needs no rights; Linux before 6.12
// does not know it, and nothing changes.
void ask_for_short_slices();

}  // namespace twinrun::exec
