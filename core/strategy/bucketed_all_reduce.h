#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/strategy/gradient_sync.h"
#include "core/strategy/step_builder.h"

namespace twinrun {

// Gradients in buckets as PyTorch's DistributedDataParallel has them: reduced in the order of the
// buckets, each as soon as its last gradient is there, beside the rest of the backward pass.
class BucketedAllReduce : public GradientSync {
 public:
  // With `first_iteration_is_single`, step 0 has one bucket: DDP learns the order of gradients in
  // it.
  BucketedAllReduce(StepBuilder& steps, bool first_iteration_is_single);

  void begin_step(const RankStep& at) override;
  std::vector<OpId> before_block(const RankStep& at, std::size_t block, Pass pass) override;
  void gradients_ready(const RankStep& at,
                       const std::vector<std::size_t>& layers,
                       OpId op) override;
  std::vector<OpId> reduced(const RankStep& at) override;
  [[nodiscard]] Store gradient_store() const override;

 private:
  // The buckets of a stage: elements of each, and by layer in which buckets its tensors are.
  struct Buckets {
    std::vector<std::int64_t> elements;
    std::map<std::size_t, std::vector<std::size_t>> of_layer;
    std::vector<std::size_t> layers_in;           // how many layers a bucket waits for
    std::vector<std::vector<CountRange>> ranges;  // its elements of the model; for real runs
  };
  const Buckets& buckets_of(const RankStep& at);
  Buckets make_buckets(const RankStep& at, bool single) const;
  void await_gradients(const RankStep& at);
  void emit(const RankStep& at, const Buckets& buckets, std::size_t bucket, OpId ready);

  StepBuilder& steps_;
  bool first_is_single_;
  std::map<std::pair<std::int64_t, bool>, Buckets> by_stage_;
  // Of the rank and step at hand.
  std::vector<std::size_t> missing_;
  std::vector<OpId> ready_;
  std::size_t next_ = 0;
  std::vector<OpId> reductions_;
  std::vector<OpId> broadcasts_;
};

}  // namespace twinrun
