#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "core/strategy/gradient_sync.h"
#include "core/strategy/step_builder.h"

namespace twinrun {

// ZeRO (Rajbhandari et al., arXiv:1910.02054) and FSDP: `shards` replicas share one copy of the
// state. Gradients of a block are reduce-scattered when they are complete; each replica updates its
// share. Stages 1 and 2 gather the new weights once, after the update; stage 3 keeps weights
// sharded and gathers a block before each pass enters it, the next one while the present one
// computes:
//
//   compute   F0    F1    F2                         B2    B1 …
//   dp      G0 G1    G2                           G2 G1    S2 G0 …      gather, reduce-scatter
//
// With more replicas than shards (hybrid), the shares are all-reduced between the groups.
class ShardedState : public GradientSync {
 public:
  explicit ShardedState(StepBuilder& steps);

  void begin_step(const RankStep& at) override;
  std::vector<OpId> before_block(const RankStep& at, std::size_t block, Pass pass) override;
  void after_block(const RankStep& at, std::size_t block, Pass pass, OpId last) override;
  void gradients_ready(const RankStep& at,
                       const std::vector<std::size_t>& layers,
                       OpId op) override;
  std::vector<OpId> reduced(const RankStep& at) override;
  [[nodiscard]] std::int64_t update_shards() const override { return steps_.layout().shards; }
  void updated(const RankStep& at, OpId update) override;

 private:
  [[nodiscard]] bool shards_weights() const { return steps_.layout().zero_stage >= 3; }
  void say_what_moves(const RankStep& at,
                      OpId op,
                      Store store,
                      const std::vector<std::size_t>& blocks);
  [[nodiscard]] Bytes bytes_of(std::size_t block) const;
  [[nodiscard]] bool is_here(const RankStep& at, std::size_t block) const;
  void gather(const RankStep& at, std::size_t block, Pass pass);
  void reduce(const RankStep& at, std::size_t block, OpId last);
  GroupId shard_group(const RankStep& at);
  GroupId copies_group(const RankStep& at);

  StepBuilder& steps_;
  // Of the rank at hand.
  std::size_t rank_ = static_cast<std::size_t>(-1);
  std::map<std::size_t, OpId> gathered_;        // by block: the gather, while its weights are here
  std::map<std::size_t, std::size_t> unready_;  // by block: layers whose gradients are missing
  std::vector<OpId> left_;                      // last ops of the blocks left behind, in order
  std::vector<OpId> reductions_;
  OpId update_ = no_id<OpId>();    // that the next gather waits for
  std::vector<OpId> new_weights_;  // gathers after the last update, that the next step waits for
  std::int64_t gathers_ = 0;       // of this rank, for names
};

}  // namespace twinrun
