#include "core/strategy/batch_feed.h"

#include <utility>

#include <fmt/format.h>

namespace twinrun {
namespace {

constexpr std::int64_t kBatchesOnDevice = 2;  // one computes, one comes
constexpr std::int32_t kFeedTag = 3'000'000;

}  // namespace

void BatchFeed::begin_step(const RankStep& at) {
  inner_.begin_step(at);
  if (at.step == 0) {
    computed_.clear();
  }
  const Layout& layout = steps_.layout();
  const VertexId host = steps_.host_of(layout.devices[at.rank]);
  const bool is_fed = at.stage == 0 && !steps_.job().input.given && host != no_id<VertexId>() &&
                      host != layout.devices[at.rank];
  if (!is_fed) {
    return;
  }
  steps_.set_input_store(Store::kBatches);
  const Bytes bytes{layout.local_batch * steps_.model().inputs *
                    stored_bytes(steps_.job().training.dtype)};
  const DeviceId from = steps_.device_at(host);
  const DeviceId to = steps_.device(at.rank);
  const OpId sent = steps_.plan().add_send(
      fmt::format("step{}/input/split/rank{}@{}", at.step, at.rank, steps_.topology().name(host)),
      steps_.plan().stream(from, fmt::format("input-rank{}", at.rank)), {to, bytes, kFeedTag});
  if (const auto before = computed_.find(at.step - kBatchesOnDevice); before != computed_.end()) {
    steps_.plan().depend(sent, before->second);
  }
  arrived_ = {steps_.plan().add_recv(steps_.id(at, "input/split"), steps_.stream(at.rank, "input"),
                                     {from, bytes, kFeedTag})};
  const std::int64_t first = at.replica * layout.local_batch;
  const CountRange samples{first, first + layout.local_batch};
  steps_.set_payload(sent, Payloads::rows(Store::kSamples, 0, samples));
  steps_.set_payload(arrived_.front(), Payloads::rows(Store::kBatches, 0, samples));
}

std::vector<OpId> BatchFeed::before_block(const RankStep& at, std::size_t block, Pass pass) {
  std::vector<OpId> wait = inner_.before_block(at, block, pass);
  if (pass == Pass::kForward) {
    const std::vector<OpId> arrived = std::exchange(arrived_, {});
    wait.insert(wait.end(), arrived.begin(), arrived.end());
  }
  return wait;
}

void BatchFeed::gradients_ready(const RankStep& at,
                                const std::vector<std::size_t>& layers,
                                OpId op) {
  computed_[at.step] = op;
  inner_.gradients_ready(at, layers, op);
}

}  // namespace twinrun
