#include "core/strategy/replica_sync.h"

#include "core/strategy/bucketed_all_reduce.h"
#include "core/strategy/server_sync.h"
#include "core/strategy/sharded_state.h"

namespace twinrun {

std::unique_ptr<GradientSync> make_replica_sync(StepBuilder& steps) {
  if (steps.layout().uses_servers) {
    set_server_warmup(steps);
    return make_server_sync(steps);
  }
  if (steps.layout().zero_stage > 0 && steps.layout().shards > 1) {
    return std::make_unique<ShardedState>(steps);
  }
  const bool learns_order = steps.warmup_steps() > 0;
  return std::make_unique<BucketedAllReduce>(steps, learns_order);
}

}  // namespace twinrun
