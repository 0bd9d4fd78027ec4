#pragma once

#include <optional>
#include <string>

#include "core/plan/plan.h"

namespace twinrun::exec {

// Why a plan with a workload cannot be trained for real, as a sentence; nothing when it can. A plan
// may come from a file: after this every payload names layers, samples and elements that exist, and
// both ends of a message and all ranks of a collective move equally much.
std::optional<std::string> why_not_trainable(const Plan& plan);

}  // namespace twinrun::exec
