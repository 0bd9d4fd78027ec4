#include "core/strategy/sharded_state.h"

#include <utility>

#include <fmt/format.h>

namespace twinrun {

ShardedState::ShardedState(StepBuilder& steps) : steps_(steps) {}

Bytes ShardedState::bytes_of(std::size_t block) const {
  const Block& layers = steps_.model().blocks[block];
  std::int64_t elements = 0;
  for (std::size_t i = 0; i < layers.layer_count; ++i) {
    elements += twinrun::parameters_of(steps_.work()[layers.first_layer + i]);
  }
  return {elements * stored_bytes(steps_.job().training.dtype)};
}

bool ShardedState::is_here(const RankStep& at, std::size_t block) const {
  for (std::int64_t chunk = 0; chunk < steps_.layout().virtual_stages; ++chunk) {
    const ChunkRange& part =
        steps_.parts()[static_cast<std::size_t>(chunk * steps_.layout().stages + at.stage)];
    if (block >= part.first && block < part.end) {
      return true;
    }
  }
  return false;
}

// Neighbouring replicas share, so that a machine's GPUs share with each other first.
GroupId ShardedState::shard_group(const RankStep& at) {
  const Layout& layout = steps_.layout();
  const std::int64_t first = at.replica / layout.shards * layout.shards;
  std::vector<DeviceId> members;
  for (std::int64_t i = 0; i < layout.shards; ++i) {
    members.push_back(steps_.device(layout.rank(first + i, at.stage, at.tensor)));
  }
  return steps_.plan().add_group(fmt::format("shard{}-s{}-t{}", first, at.stage, at.tensor),
                                 members);
}

GroupId ShardedState::copies_group(const RankStep& at) {
  const Layout& layout = steps_.layout();
  const std::int64_t share = at.replica % layout.shards;
  std::vector<DeviceId> members;
  for (std::int64_t i = share; i < layout.replicas; i += layout.shards) {
    members.push_back(steps_.device(layout.rank(i, at.stage, at.tensor)));
  }
  return steps_.plan().add_group(fmt::format("copies{}-s{}-t{}", share, at.stage, at.tensor),
                                 members);
}

void ShardedState::begin_step(const RankStep& at) {
  if (at.rank != rank_) {
    rank_ = at.rank;
    new_weights_.clear();
    update_ = no_id<OpId>();
    gathered_.clear();
    left_.clear();
    gathers_ = 0;
  }
  reductions_.clear();
  unready_.clear();
  for (std::size_t block = 0; block < steps_.model().blocks.size(); ++block) {
    const Block& layers = steps_.model().blocks[block];
    for (std::size_t i = 0; i < layers.layer_count; ++i) {
      unready_[block] += steps_.work()[layers.first_layer + i].tensors.empty() ? 0U : 1U;
    }
  }
}

std::vector<OpId> ShardedState::before_block(const RankStep& at, std::size_t block, Pass pass) {
  if (!shards_weights()) {
    return pass == Pass::kForward ? std::exchange(new_weights_, {}) : std::vector<OpId>();
  }
  gather(at, block, pass);
  const std::size_t next = pass == Pass::kForward ? block + 1 : block - 1;  // wraps: not here
  if (next < steps_.model().blocks.size() && is_here(at, next)) {
    gather(at, next, pass);
  }
  const auto here = gathered_.find(block);
  return here == gathered_.end() ? std::vector<OpId>() : std::vector<OpId>{here->second};
}

// At most two blocks are there in full: a gather waits until the block before the present one has
// been left.
void ShardedState::gather(const RankStep& at, std::size_t block, Pass pass) {
  const Bytes bytes = bytes_of(block);
  if (gathered_.contains(block) || bytes.count == 0) {
    return;
  }
  const bool again = pass != Pass::kForward;
  const OpId op = steps_.plan().add_collective(
      steps_.id(at, fmt::format("all_gather/{}-{}{}/{}-g{}", again ? "backward" : "forward",
                                steps_.model().blocks[block].name,
                                steps_.layout().replicas > steps_.layout().shards
                                    ? fmt::format("-copy{}", at.replica / steps_.layout().shards)
                                    : "",
                                gathers_++, fmt::format("s{}t{}", at.stage, at.tensor))),
      steps_.stream(at.rank, "dp"),
      {.kind = CollectiveKind::kAllGather,
       .group = shard_group(at),
       .bytes = bytes,
       .algorithm = "auto",
       .dtype = steps_.job().training.dtype});
  say_what_moves(at, op, Store::kParameters, {block});
  if (!left_.empty()) {
    const std::size_t behind = steps_.job().parallelism.overlap && left_.size() > 1 ? 2 : 1;
    steps_.plan().depend(op, left_[left_.size() - behind]);
  }
  if (const OpId update = std::exchange(update_, no_id<OpId>()); update != no_id<OpId>()) {
    steps_.plan().depend(op, update);  // the gathers behind it wait in the same stream
  }
  steps_.plan().add_memory_effect(op, {MemoryPart::kBuffers, bytes, MemoryWhen::kStart});
  gathered_.emplace(block, op);
}

void ShardedState::after_block(const RankStep& at, std::size_t block, Pass pass, OpId last) {
  left_.push_back(last);
  if (shards_weights() && pass != Pass::kRecompute && gathered_.contains(block)) {
    steps_.plan().add_memory_effect(
        last, {MemoryPart::kBuffers, {-bytes_of(block).count}, MemoryWhen::kEnd});
    gathered_.erase(block);
  }
  (void)at;
}

void ShardedState::gradients_ready(const RankStep& at,
                                   const std::vector<std::size_t>& layers,
                                   OpId op) {
  for (const std::size_t layer : layers) {
    std::size_t block = 0;
    while (steps_.model().blocks[block].first_layer + steps_.model().blocks[block].layer_count <=
           layer) {
      ++block;
    }
    if (--unready_[block] == 0) {
      reduce(at, block, op);
    }
  }
}

void ShardedState::say_what_moves(const RankStep& at,
                                  OpId op,
                                  Store store,
                                  const std::vector<std::size_t>& blocks) {
  if (!steps_.payloads().wanted()) {
    return;
  }
  std::vector<CountRange> ranges;
  ranges.reserve(blocks.size());
  for (const std::size_t block : blocks) {
    ranges.push_back(steps_.elements_of_block(block));
  }
  Payload payload = Payloads::elements(store, at.tensor, std::move(ranges));
  payload.shares = static_cast<std::uint32_t>(steps_.layout().shards);
  payload.share = static_cast<std::uint32_t>(at.replica) % payload.shares;
  steps_.set_payload(op, payload);
}

void ShardedState::reduce(const RankStep& at, std::size_t block, OpId last) {
  const Layout& layout = steps_.layout();
  const std::string name =
      fmt::format("{}-s{}t{}", steps_.model().blocks[block].name, at.stage, at.tensor);
  const Bytes bytes = bytes_of(block);
  const CollectiveOpSpec scatter{.kind = CollectiveKind::kReduceScatter,
                                 .group = shard_group(at),
                                 .bytes = bytes,
                                 .algorithm = "auto",
                                 .dtype = steps_.job().training.dtype};
  const bool hybrid = layout.replicas > layout.shards;
  const std::string copy = hybrid ? fmt::format("-copy{}", at.replica / layout.shards) : "";
  OpId op =
      steps_.plan().add_collective(steps_.id(at, fmt::format("reduce_scatter/{}{}", name, copy)),
                                   steps_.stream(at.rank, "dp"), scatter);
  steps_.plan().depend(op, last);
  say_what_moves(at, op, Store::kGradients, {block});
  if (hybrid) {
    const OpId scattered = op;
    op = steps_.plan().add_collective(
        steps_.id(at, fmt::format("all_reduce/{}-share{}", name, at.replica % layout.shards)),
        steps_.stream(at.rank, "dp"),
        {.kind = CollectiveKind::kAllReduce,
         .group = copies_group(at),
         .bytes = {(bytes.count + layout.shards - 1) / layout.shards},
         .algorithm = steps_.job().parallelism.all_reduce_algorithm,
         .dtype = steps_.job().training.dtype});
    steps_.plan().depend(op, scattered);
    say_what_moves(at, op, Store::kGradients, {block});
  }
  reductions_.push_back(op);
}

std::vector<OpId> ShardedState::reduced(const RankStep&) { return std::exchange(reductions_, {}); }

void ShardedState::updated(const RankStep& at, OpId update) {
  left_.push_back(update);
  update_ = update;
  if (shards_weights()) {
    return;
  }
  const Layout& layout = steps_.layout();
  const std::string copy =
      layout.replicas > layout.shards ? fmt::format("-copy{}", at.replica / layout.shards) : "";
  const OpId op = steps_.plan().add_collective(
      steps_.id(at, fmt::format("all_gather/weights-s{}t{}{}", at.stage, at.tensor, copy)),
      steps_.stream(at.rank, "dp"),
      {.kind = CollectiveKind::kAllGather,
       .group = shard_group(at),
       .bytes = {steps_.parameters_on(at) * stored_bytes(steps_.job().training.dtype)},
       .algorithm = "auto",
       .dtype = steps_.job().training.dtype});
  steps_.plan().depend(op, update);
  say_what_moves(at, op, Store::kParameters, steps_.blocks_on(at));
  new_weights_.push_back(op);
}

}  // namespace twinrun
