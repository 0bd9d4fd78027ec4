#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/strategy/gradient_sync.h"

namespace twinrun {

// Names of ops, "step3/forward/layer1.qkv/mb2@rank5", and of collectives among tensor-parallel
// ranks, which say whose they are: "…/mb2/reduce-r0s4@rank5". Plans have millions: what repeats is
// kept, and the text lives in one buffer until the next call.
class OpNames {
 public:
  std::string_view name(const RankStep& at,
                        std::string_view what,
                        std::string_view micro = {},
                        std::string_view end = {});
  std::string_view tensor_name(const RankStep& at,
                               std::string_view what,
                               std::string_view micro,
                               std::string_view end);

 private:
  void set(const RankStep& at);

  RankStep at_{.rank = static_cast<std::size_t>(-1)};
  std::string step_;   // "step3/"
  std::string rank_;   // "@rank5"
  std::string group_;  // "-r0s4"
  std::string text_;
};

}  // namespace twinrun
