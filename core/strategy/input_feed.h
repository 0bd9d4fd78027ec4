#pragma once

#include <cstdint>
#include <vector>

#include "core/strategy/pass_hook.h"
#include "core/strategy/step_builder.h"

namespace twinrun {

// Where the samples come from. Each machine reads, decodes and copies the batch of every replica
// that has its first stage there:
//
//   storage   R0 R1    R2 …       bytes / storage_bandwidth          one a machine
//   decode       D0 D1    D2 …    samples / (cores · samples a core)
//   copy            C0 C1 …       to each rank of the first stage
//   rank               step 0     step 1 …
//
// With a prefetch of p, batch s + p may be read once step s is due: when the op before it has
// ended.
class InputFeed : public PassHook {
 public:
  explicit InputFeed(StepBuilder& steps);

  std::vector<OpId> before_block(const RankStep& at,
                                 std::size_t block,
                                 Pass pass,
                                 std::string_view micro) override;
  void after_block(
      const RankStep& at, std::size_t block, Pass pass, std::string_view micro, OpId last) override;
  void step_ended(const RankStep& at, OpId last) override;
  [[nodiscard]] bool brings_samples(std::size_t rank) const override { return is_copied_[rank]; }

 private:
  struct Feed {
    std::vector<std::size_t> ranks;        // of one replica in one machine
    std::vector<std::vector<OpId>> first;  // by step: the ops that begin the batch
  };
  void find_feeds();
  void allow_batch(const RankStep& at);
  void emit(Feed& feed, std::int64_t step);
  // Adds an op behind the last one of its batch; makes it the last.
  void chain(Feed& feed, OpId& last, OpId op);
  [[nodiscard]] DeviceId machine_of(std::size_t rank);
  [[nodiscard]] double decode_samples_per_s(std::size_t rank) const;

  StepBuilder& steps_;
  std::vector<Feed> feeds_;
  std::vector<std::size_t> feed_of_;      // by rank; none for later stages
  std::vector<std::vector<OpId>> ready_;  // by rank and step: its batch is there
  std::vector<OpId> last_;                // by rank: the op behind which it is now
  std::vector<std::int64_t> begun_;       // by rank: the newest step
  std::vector<bool> is_copied_;           // by rank: its batches come from a host
};

}  // namespace twinrun
