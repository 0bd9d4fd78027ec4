#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/strategy/host_copies.h"
#include "core/strategy/pass_hook.h"
#include "core/strategy/step_builder.h"

namespace twinrun {

// Weights, their gradients and the optimizer's state live on the host (Ren et al., ZeRO-Offload,
// arXiv:2101.06840). The weights of a block come in before each pass through it; its gradients go
// out behind its backward pass, or all of them once the replicas have summed them; the CPU updates.
class OffloadWeights : public PassHook {
 public:
  explicit OffloadWeights(StepBuilder& steps);

  std::vector<OpId> before_block(const RankStep& at,
                                 std::size_t block,
                                 Pass pass,
                                 std::string_view micro) override;
  void after_block(
      const RankStep& at, std::size_t block, Pass pass, std::string_view micro, OpId last) override;
  [[nodiscard]] bool holds_state() const override { return true; }
  [[nodiscard]] bool takes_gradients() const override { return !keeps_gradients(); }
  OpId update(const RankStep& at, std::int64_t parameters, const std::vector<OpId>& after) override;

 private:
  struct Visit {
    std::size_t block = 0;
    OpId last{};
  };
  void hold_state(std::size_t rank);
  void set_rank(std::size_t rank);
  void drop_newest();
  [[nodiscard]] Bytes bytes_of(std::size_t block, std::int64_t element) const;
  // What the host works on, or a copy from or to it.
  void say_what(const RankStep& at,
                OpId op,
                Verb verb,
                Store source,
                Store target,
                std::vector<CountRange> ranges);
  [[nodiscard]] bool keeps_gradients() const { return steps_.layout().replicas > 1; }

  StepBuilder& steps_;
  HostCopies copies_;
  // Of the rank at hand.
  std::size_t rank_ = static_cast<std::size_t>(-1);
  std::set<std::size_t> here_;       // blocks whose weights are on the rank
  std::map<std::size_t, OpId> out_;  // by block: its gradients, the last time they left
  std::optional<Visit> newest_;      // left, but may be entered again at once
  std::vector<OpId> gradients_out_;  // of the step
  OpId updated_ = no_id<OpId>();     // the last update
};

}  // namespace twinrun
