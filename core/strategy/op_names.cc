#include "core/strategy/op_names.h"

#include <fmt/format.h>

namespace twinrun {

void OpNames::set(const RankStep& at) {
  if (at.rank == at_.rank && at.step == at_.step) {
    return;
  }
  at_ = at;
  step_ = fmt::format("step{}/", at.step);
  rank_ = fmt::format("@rank{}", at.rank);
  group_ = fmt::format("-r{}s{}", at.replica, at.stage);
}

std::string_view OpNames::name(const RankStep& at,
                               std::string_view what,
                               std::string_view micro,
                               std::string_view end) {
  set(at);
  text_.assign(step_).append(what).append(micro).append(end).append(rank_);
  return text_;
}

std::string_view OpNames::tensor_name(const RankStep& at,
                                      std::string_view what,
                                      std::string_view micro,
                                      std::string_view end) {
  set(at);
  text_.assign(step_).append(what).append(micro).append(end).append(group_).append(rank_);
  return text_;
}

}  // namespace twinrun
