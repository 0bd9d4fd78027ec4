#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "core/strategy/gradient_sync.h"
#include "core/strategy/pieces.h"

namespace twinrun {

class StepBuilder;

// What an option of a job adds to the passes of any strategy: samples that come from storage,
// tensors that are kept on the host. Called in the order of each rank's own program, one rank after
// the other.
class PassHook {
 public:
  PassHook() = default;
  PassHook(const PassHook&) = delete;
  PassHook& operator=(const PassHook&) = delete;
  virtual ~PassHook() = default;

  // Ops that must end before the pass of a micro-batch ("/mb2", or "") may enter this block.
  virtual std::vector<OpId> before_block(const RankStep&,
                                         std::size_t /*block*/,
                                         Pass,
                                         std::string_view /*micro*/) {
    return {};
  }
  // The pass has left the block; `last` was its last op.
  virtual void after_block(
      const RankStep&, std::size_t /*block*/, Pass, std::string_view /*micro*/, OpId /*last*/) {}
  // Whether it copies samples to the rank, where its first layers find them.
  [[nodiscard]] virtual bool brings_samples(std::size_t /*rank*/) const { return false; }
  // Whether it takes the gradients of each micro-batch away.
  [[nodiscard]] virtual bool takes_gradients() const { return false; }
  // Whether weights, gradients and optimizer state are somewhere else than on the rank.
  [[nodiscard]] virtual bool holds_state() const { return false; }
  // Updates the weights in its own way; no op when the rank is to do it.
  virtual OpId update(const RankStep&,
                      std::int64_t /*parameters*/,
                      const std::vector<OpId>& /*after*/) {
    return no_id<OpId>();
  }
  // `last` was the last op of the step on this rank.
  virtual void step_ended(const RankStep&, OpId /*last*/) {}
};

// Those that the job asks for; complains about what cannot be.
std::vector<std::unique_ptr<PassHook>> make_pass_hooks(StepBuilder& steps);

}  // namespace twinrun
