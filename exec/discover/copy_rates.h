#pragma once

#include "exec/discover/machine.h"

namespace twinrun::exec {

// Measures how fast cores copy within the memory of their NUMA node, one alone and all at once:
// about a second a node, blocks larger than any cache, each thread bound to its core and the first
// to touch its memory. Counted are the bytes that arrive. For the machine that this runs on.
void measure_copies(Machine& machine);

}  // namespace twinrun::exec
