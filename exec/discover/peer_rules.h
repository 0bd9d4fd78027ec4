#pragma once

#include "core/topology/spec.h"
#include "exec/discover/machine.h"

namespace twinrun::exec {

// GPUs that are near enough to talk directly, but whose driver says that they cannot, do not: one
// override a pair, or the machine's rule when that holds for all pairs. Where the driver says
// nothing of a pair, the rule is left alone.
void apply_peers(const Machine& machine, TopologySpec& spec);

}  // namespace twinrun::exec
