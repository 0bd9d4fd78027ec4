#pragma once

#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/plan/op.h"
#include "core/strategy/gradient_sync.h"

namespace twinrun {

class StepBuilder;

// Copies between a rank and the memory of its host, each direction on a stream of its own. What a
// block needs comes in while the block before it computes:
//
//   compute   F0   F1   F2 …          block by block
//   in      W0 W1   W2   W3 …         W2 begins when F0 has ended
class HostCopies {
 public:
  explicit HostCopies(StepBuilder& steps) : steps_(steps) {}

  // Complains when a rank has no host to keep things on.
  [[nodiscard]] bool has_hosts() const;
  [[nodiscard]] DeviceId host_of(std::size_t rank) const;

  // For the block that is entered now: takes memory on the rank when it begins.
  OpId in(const RankStep& at, std::string_view name, MemoryPart part, Bytes bytes);
  // Begins when `after` has ended, and gives the memory back when it ends.
  OpId out(const RankStep& at, std::string_view name, MemoryPart part, Bytes bytes, OpId after);
  // The rank has left a block.
  void leave(const RankStep& at, OpId last);

 private:
  void set_rank(std::size_t rank);

  StepBuilder& steps_;
  std::size_t rank_ = static_cast<std::size_t>(-1);
  OpId last_ = no_id<OpId>();         // of the block left last
  OpId before_last_ = no_id<OpId>();  // … and of the one before
};

}  // namespace twinrun
