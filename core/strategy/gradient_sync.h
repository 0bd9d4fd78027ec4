#pragma once

#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "core/plan/payload.h"
#include "core/strategy/pieces.h"

namespace twinrun {

// Where in the run something is emitted.
struct RankStep {
  std::size_t rank = 0;
  std::int64_t replica = 0;
  std::int64_t stage = 0;
  std::int64_t tensor = 0;
  std::int64_t step = 0;
  std::int64_t micro = -1;  // the micro-batch, where weights are updated after each; else -1
};

// How replicas come to the same weights: all-reduce, sharded state, servers. The step builder calls
// these in the order of each rank's own program, one rank after the other; finish() once at the
// end.
class GradientSync {
 public:
  GradientSync() = default;
  GradientSync(const GradientSync&) = delete;
  GradientSync& operator=(const GradientSync&) = delete;
  virtual ~GradientSync() = default;

  virtual void begin_step(const RankStep&) {}
  // Ops that must end before the pass may enter this block, whose weights they bring.
  virtual std::vector<OpId> before_block(const RankStep&, std::size_t /*block*/, Pass) {
    return {};
  }
  // The pass has left the block; `last` was its last op.
  virtual void after_block(const RankStep&, std::size_t /*block*/, Pass, OpId /*last*/) {}
  // The gradients of these layers are complete for this step at the end of `op`.
  virtual void gradients_ready(const RankStep&,
                               const std::vector<std::size_t>& /*layers*/,
                               OpId /*op*/) {}
  // The backward pass of the step is over: ops that the update must wait for.
  virtual std::vector<OpId> reduced(const RankStep&) { return {}; }
  // Whether ranks update their weights themselves, and which share of them.
  [[nodiscard]] virtual bool updates_on_ranks() const { return true; }
  [[nodiscard]] virtual std::int64_t update_shards() const { return 1; }
  // Where the update finds the gradients.
  [[nodiscard]] virtual Store gradient_store() const { return Store::kGradients; }
  virtual void updated(const RankStep&, OpId /*update*/) {}
  virtual void finish() {}
};

}  // namespace twinrun
