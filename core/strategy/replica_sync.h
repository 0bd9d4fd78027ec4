#pragma once

#include <memory>

#include "core/strategy/gradient_sync.h"
#include "core/strategy/step_builder.h"

namespace twinrun {

// How the replicas of a job come to the same weights: servers or sharded state when it says so,
// else all-reduce in buckets.
std::unique_ptr<GradientSync> make_replica_sync(StepBuilder& steps);

}  // namespace twinrun
