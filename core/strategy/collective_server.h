#pragma once

#include <vector>

#include "core/strategy/gradient_sync.h"
#include "core/strategy/step_builder.h"

namespace twinrun {

// Parameter servers that are made of collectives (server.transport), as people build them who have
// NCCL and no server: all gradients of a rank are one buffer that goes after the last backward.
//
//   one server, the first replica        reduce, update there, broadcast
//   one on every replica, a share each   all-to-all, sum and update of its share, all-gather
class CollectiveServer : public GradientSync {
 public:
  explicit CollectiveServer(StepBuilder& steps);

  void begin_step(const RankStep& at) override;
  std::vector<OpId> before_block(const RankStep& at, std::size_t block, Pass pass) override;
  void gradients_ready(const RankStep& at,
                       const std::vector<std::size_t>& layers,
                       OpId op) override;
  std::vector<OpId> reduced(const RankStep& at) override;
  [[nodiscard]] bool updates_on_ranks() const override { return false; }

 private:
  OpId add(const RankStep& at, CollectiveKind kind, OpId after);
  OpId update(const RankStep& at, std::int64_t share, OpId arrived);
  OpId sum_shares(const RankStep& at, std::int64_t share, OpId after);
  void say_what(const RankStep& at, OpId op, Verb verb, Store source, Store target);
  [[nodiscard]] std::int64_t share_of(std::int64_t parameters) const;

  StepBuilder& steps_;
  bool is_sharded_;
  OpId last_ready_ = no_id<OpId>();  // of the rank and step at hand
  std::vector<OpId> weights_;        // that the next step waits for
};

}  // namespace twinrun
