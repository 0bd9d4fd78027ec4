#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/strategy/host_copies.h"
#include "core/strategy/pass_hook.h"
#include "core/strategy/step_builder.h"

namespace twinrun {

// Activations are kept on the host: what a block saves is copied out behind its forward pass and
// back in before its backward pass (Rhu et al., vDNN, arXiv:1602.08124). A block whose backward
// pass comes next stays.
class OffloadActivations : public PassHook {
 public:
  explicit OffloadActivations(StepBuilder& steps);

  std::vector<OpId> before_block(const RankStep& at,
                                 std::size_t block,
                                 Pass pass,
                                 std::string_view micro) override;
  void after_block(
      const RankStep& at, std::size_t block, Pass pass, std::string_view micro, OpId last) override;

 private:
  // A pass of a micro-batch through a block that has left its activations behind.
  struct Visit {
    RankStep at;
    std::size_t block = 0;
    std::string micro;
    OpId last{};
    CountRange samples = {};
  };
  using Key = std::pair<std::size_t, std::string>;  // block and micro-batch

  [[nodiscard]] Key key_of(const RankStep& at, std::size_t block, std::string_view micro) const;
  void say_what_moves(OpId copy, const Visit& visit, Store source, Store target);
  [[nodiscard]] std::string name_of(std::string_view what, const Visit& visit) const;

  StepBuilder& steps_;
  HostCopies copies_;
  std::vector<Bytes> kept_;      // by block
  std::optional<Visit> newest_;  // may be needed at once
  std::map<Key, OpId> out_;      // on the host, of the rank at hand
};

}  // namespace twinrun
