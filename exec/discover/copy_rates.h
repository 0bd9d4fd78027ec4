#pragma once

#include <cstddef>

#include "exec/discover/machine.h"

namespace twinrun::exec {

// Measures how fast cores copy within the memory of their NUMA node, one alone and all at once:
// about a second a node, blocks larger than any cache, each thread bound to its core and the first
// to touch its memory. Counted are the bytes that arrive. For the machine that this runs on.
void measure_copies(Machine& machine);

// What each of so many threads has for it; half is copied from, half into. Together four times the
// caches, where they are known, or 512 MiB if that is more; but at most an eighth of the memory.
std::size_t block_bytes(const NumaNode& node, std::size_t threads);

}  // namespace twinrun::exec
