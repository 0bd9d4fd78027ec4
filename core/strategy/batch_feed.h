#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/strategy/gradient_sync.h"
#include "core/strategy/step_builder.h"

namespace twinrun {

// Around another GradientSync: each machine has its block of the batch in host memory and copies
// every device its share, one step ahead of the one that computes. The first stage of a pipeline
// gets it. A job with an input pipeline has these copies there.
class BatchFeed : public GradientSync {
 public:
  BatchFeed(StepBuilder& steps, GradientSync& inner) : steps_(steps), inner_(inner) {}

  void begin_step(const RankStep& at) override;
  std::vector<OpId> before_block(const RankStep& at, std::size_t block, Pass pass) override;
  void after_block(const RankStep& at, std::size_t block, Pass pass, OpId last) override {
    inner_.after_block(at, block, pass, last);
  }
  void gradients_ready(const RankStep& at,
                       const std::vector<std::size_t>& layers,
                       OpId op) override;
  std::vector<OpId> reduced(const RankStep& at) override { return inner_.reduced(at); }
  [[nodiscard]] bool updates_on_ranks() const override { return inner_.updates_on_ranks(); }
  [[nodiscard]] std::int64_t update_shards() const override { return inner_.update_shards(); }
  [[nodiscard]] Store gradient_store() const override { return inner_.gradient_store(); }
  void updated(const RankStep& at, OpId update) override { inner_.updated(at, update); }
  void finish() override { inner_.finish(); }

 private:
  StepBuilder& steps_;
  GradientSync& inner_;
  // Of the rank at hand.
  std::vector<OpId> arrived_;              // the copy that the next forward pass waits for
  std::map<std::int64_t, OpId> computed_;  // by step: its last op, after which its copy may go
};

}  // namespace twinrun
