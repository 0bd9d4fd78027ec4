#include "core/strategy/offload_weights.h"

#include <fmt/format.h>

#include "core/strategy/optimizer_state.h"

namespace twinrun {

OffloadWeights::OffloadWeights(StepBuilder& steps) : steps_(steps), copies_(steps) {
  for (std::size_t rank = 0; rank < steps.layout().ranks(); ++rank) {
    hold_state(rank);
  }
}

void OffloadWeights::hold_state(std::size_t rank) {
  const Training& training = steps_.job().training;
  const StateBytes state = state_bytes(training.dtype, training.optimizer);
  const std::int64_t count = steps_.parameters_on(steps_.at(rank, 0));
  if (keeps_gradients()) {
    steps_.hold(rank, MemoryPart::kGradients, {count * state.gradient});
  }
  const OpId setup = steps_.plan().add_marker(
      fmt::format("setup/offload@rank{}", rank),
      steps_.plan().stream(copies_.host_of(rank), fmt::format("update-rank{}", rank)));
  const auto on_host = [&](MemoryPart part, std::int64_t bytes) {
    if (bytes > 0) {
      steps_.plan().add_memory_effect(setup, {part, {bytes}, MemoryWhen::kStart});
    }
  };
  on_host(MemoryPart::kParameters, count * state.weight);
  on_host(MemoryPart::kGradients, count * state.gradient);
  on_host(MemoryPart::kOptimizer, count * state.optimizer);
}

void OffloadWeights::set_rank(std::size_t rank) {
  if (rank != rank_) {
    rank_ = rank;
    here_.clear();
    newest_.reset();
    gradients_out_.clear();
    out_.clear();
    updated_ = no_id<OpId>();
  }
}

Bytes OffloadWeights::bytes_of(std::size_t block, std::int64_t element) const {
  const Block& layers = steps_.model().blocks[block];
  std::int64_t elements = 0;
  for (std::size_t i = 0; i < layers.layer_count; ++i) {
    elements += twinrun::parameters_of(steps_.work()[layers.first_layer + i]);
  }
  return {elements * element};
}

void OffloadWeights::drop_newest() {
  const StateBytes state =
      state_bytes(steps_.job().training.dtype, steps_.job().training.optimizer);
  const Bytes weights = bytes_of(newest_->block, state.weight);
  steps_.plan().add_memory_effect(newest_->last,
                                  {MemoryPart::kParameters, {-weights.count}, MemoryWhen::kEnd});
  here_.erase(newest_->block);
  newest_.reset();
}

std::vector<OpId> OffloadWeights::before_block(const RankStep& at,
                                               std::size_t block,
                                               Pass pass,
                                               std::string_view micro) {
  set_rank(at.rank);
  if (newest_ && newest_->block != block) {
    drop_newest();
  }
  newest_.reset();
  const StateBytes state =
      state_bytes(steps_.job().training.dtype, steps_.job().training.optimizer);
  const Bytes weights = bytes_of(block, state.weight);
  std::vector<OpId> wait;
  if (const auto out = out_.find(block); pass == Pass::kBackward && out != out_.end()) {
    wait.push_back(out->second);  // gradients of the micro-batch before are still to leave
    out_.erase(out);
  }
  if (weights.count == 0 || !here_.insert(block).second) {
    return wait;
  }
  const std::string name =
      fmt::format("offload/in/{}/{}{}", kPassWords[static_cast<std::size_t>(pass)],
                  steps_.model().blocks[block].name, micro);
  const OpId in = copies_.in(at, name, MemoryPart::kParameters, weights);
  if (updated_ != no_id<OpId>()) {
    steps_.plan().depend(in, updated_);
  }
  if (steps_.payloads().wanted()) {
    say_what(at, in, Verb::kCopy, Store::kHostParameters, Store::kParameters,
             {steps_.elements_of_block(block)});
  }
  wait.push_back(in);
  return wait;
}

void OffloadWeights::after_block(
    const RankStep& at, std::size_t block, Pass pass, std::string_view micro, OpId last) {
  copies_.leave(at, last);
  const StateBytes state =
      state_bytes(steps_.job().training.dtype, steps_.job().training.optimizer);
  const Bytes gradients = bytes_of(block, state.gradient);
  if (gradients.count == 0) {
    return;
  }
  newest_ = Visit{block, last};
  if (pass == Pass::kBackward && !keeps_gradients()) {
    steps_.plan().add_memory_effect(last, {MemoryPart::kGradients, gradients, MemoryWhen::kStart});
    const std::string name =
        fmt::format("offload/out/{}{}", steps_.model().blocks[block].name, micro);
    gradients_out_.push_back(copies_.out(at, name, MemoryPart::kGradients, gradients, last));
    out_[block] = gradients_out_.back();
    if (steps_.payloads().wanted()) {
      say_what(at, out_[block], Verb::kAdd, Store::kGradients, Store::kHostGradients,
               {steps_.elements_of_block(block)});
    }
  }
}

OpId OffloadWeights::update(const RankStep& at,
                            std::int64_t parameters,
                            const std::vector<OpId>& after) {
  const Training& training = steps_.job().training;
  const UpdateWork work = update_work(training.dtype, training.optimizer);
  PlanBuilder& plan = steps_.plan();
  if (newest_) {  // it will not be what it was
    drop_newest();
  }
  if (keeps_gradients()) {
    const StateBytes state = state_bytes(training.dtype, training.optimizer);
    const OpId out =
        plan.add_copy(steps_.id(at, "offload/out/gradients"), steps_.stream(at.rank, "offload-out"),
                      copies_.host_of(at.rank), {parameters * state.gradient});
    for (const OpId op : after) {
      plan.depend(out, op);
    }
    if (steps_.payloads().wanted()) {
      say_what(at, out, Verb::kAdd, steps_.gradient_store(), Store::kHostGradients,
               steps_.elements_on(at));
    }
    gradients_out_.push_back(out);
  }
  updated_ =
      plan.add_compute(steps_.id(at, "update"),
                       plan.stream(copies_.host_of(at.rank), fmt::format("update-rank{}", at.rank)),
                       {work.flops * static_cast<double>(parameters),
                        {work.bytes * parameters},
                        Dtype::kFp32,
                        Kernel{KernelKind::kUpdate, 0, 0, 0, "all", {}}});
  for (const OpId op : gradients_out_) {
    plan.depend(updated_, op);
  }
  for (const OpId op : after) {
    plan.depend(updated_, op);
  }
  gradients_out_.clear();
  if (steps_.payloads().wanted()) {
    say_what(at, updated_, Verb::kUpdate, Store::kHostGradients, Store::kHostParameters,
             steps_.elements_on(at));
  }
  return updated_;
}

void OffloadWeights::say_what(const RankStep& at,
                              OpId op,
                              Verb verb,
                              Store source,
                              Store target,
                              std::vector<CountRange> ranges) {
  Payload payload = Payloads::elements(verb, source, target, at.tensor, std::move(ranges));
  payload.sender = steps_.device(at.rank);
  steps_.set_payload(op, payload);
}

}  // namespace twinrun
