#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/strategy/gradient_sync.h"
#include "core/strategy/step_builder.h"

namespace twinrun {

// How TensorFlow's mirrored strategies sum gradients: concatenated into packs, each reduced at
// once and taken apart again. Without a size there is one pack, so nothing is reduced before
// backward ends (bytes_per_pack 0, TensorFlow's default). A size, which is ddp.bucket_cap_mb when
// the job gives it, makes several, from the last gradient to the first, and they are reduced beside
// backward. Norms' statistics stay local: they are averaged when they are read.
class PackedAllReduce : public GradientSync {
 public:
  explicit PackedAllReduce(StepBuilder& steps);

  void begin_step(const RankStep& at) override;
  void gradients_ready(const RankStep& at,
                       const std::vector<std::size_t>& layers,
                       OpId op) override;
  std::vector<OpId> reduced(const RankStep& at) override;

 private:
  // Of a stage: elements of each pack, and layers with a tensor in it.
  struct Packs {
    std::vector<std::int64_t> elements;
    std::vector<std::vector<std::size_t>> layers;
    std::vector<std::vector<CountRange>> ranges;  // elements of the model; for real runs
  };
  const Packs& packs_of(const RankStep& at);
  [[nodiscard]] Packs make_packs(const RankStep& at) const;
  void reduce(const RankStep& at, std::size_t pack, OpId ready);

  StepBuilder& steps_;
  std::map<std::int64_t, Packs> by_stage_;
  // Of the rank and step at hand.
  std::vector<std::size_t> missing_;  // by pack: layers that are not ready
  std::size_t next_ = 0;
  std::vector<OpId> sums_;  // by pack that was reduced
};

}  // namespace twinrun
