#include "core/strategy/bucketed_all_reduce.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "core/model/ddp_buckets.h"

namespace twinrun {
namespace {

constexpr double kMiB = 1 << 20;

BucketLimits limits_of(const Job& job, bool single) {
  const DdpOptions& ddp = job.ddp;
  const double first = ddp.first_bucket_mb.value_or(ddp.bucket_cap_given ? ddp.bucket_cap_mb : 1);
  BucketLimits limits;
  limits.element_bytes = stored_bytes(job.training.dtype);
  const auto bytes = [&](double mib) {
    return Bytes{single ? std::numeric_limits<std::int64_t>::max() / 2
                        : static_cast<std::int64_t>(mib * kMiB)};
  };
  limits.first = bytes(first);
  limits.others = bytes(ddp.bucket_cap_mb);
  return limits;
}

}  // namespace

BucketedAllReduce::BucketedAllReduce(StepBuilder& steps, bool first_iteration_is_single)
    : steps_(steps), first_is_single_(first_iteration_is_single) {
  if (steps.job().ddp.gradient_as_bucket_view || steps.layout().replicas == 1) {
    return;
  }
  for (std::size_t rank = 0; rank < steps.layout().ranks(); ++rank) {
    steps.hold(rank, MemoryPart::kBuffers,
               {steps.parameters_on(steps.at(rank, 0)) * stored_bytes(steps.job().training.dtype)});
  }
}

BucketedAllReduce::Buckets BucketedAllReduce::make_buckets(const RankStep& at, bool single) const {
  const std::vector<std::size_t> layers = steps_.layers_on(at);
  std::vector<std::int64_t> tensors;
  for (const std::size_t layer : layers) {
    const auto& of_layer = steps_.work()[layer].tensors;
    tensors.insert(tensors.end(), of_layer.begin(), of_layer.end());
  }
  Buckets out;
  out.elements = ddp_buckets(tensors, limits_of(steps_.job(), single));
  out.layers_in.resize(out.elements.size());
  out.ranges.resize(out.elements.size());
  std::size_t bucket = 0;
  std::int64_t filled = 0;
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    const auto& of_layer = steps_.work()[*layer].tensors;
    for (auto tensor = of_layer.rbegin(); tensor != of_layer.rend(); ++tensor) {
      std::vector<std::size_t>& in = out.of_layer[*layer];
      if (in.empty() || in.back() != bucket) {
        in.push_back(bucket);
        ++out.layers_in[bucket];
      }
      if (steps_.payloads().wanted()) {
        const auto number = static_cast<std::size_t>(of_layer.rend() - tensor) - 1;
        out.ranges[bucket].push_back(steps_.payloads().tensor(*layer, number));
      }
      filled += *tensor;
      if (filled == out.elements[bucket]) {
        out.ranges[bucket] = joined(std::move(out.ranges[bucket]));
        ++bucket;
        filled = 0;
      }
    }
  }
  return out;
}

const BucketedAllReduce::Buckets& BucketedAllReduce::buckets_of(const RankStep& at) {
  const bool single = at.step == 0 && first_is_single_;
  const auto key = std::make_pair(at.stage, single);
  const auto known = by_stage_.find(key);
  return known != by_stage_.end() ? known->second
                                  : by_stage_.emplace(key, make_buckets(at, single)).first->second;
}

void BucketedAllReduce::await_gradients(const RankStep& at) {
  missing_ = buckets_of(at).layers_in;
  ready_.assign(missing_.size(), no_id<OpId>());
  next_ = 0;
  reductions_.clear();
}

void BucketedAllReduce::begin_step(const RankStep& at) {
  await_gradients(at);
  broadcasts_.clear();
  const std::int64_t buffers = steps_.buffers_on(at);
  if (steps_.layout().replicas == 1 || buffers == 0 || !steps_.job().ddp.broadcast_buffers) {
    return;
  }
  const GroupId group = steps_.replica_group(at);
  const RankStep root = {steps_.layout().rank(0, at.stage, at.tensor), 0, at.stage, at.tensor,
                         at.step};
  broadcasts_.push_back(steps_.plan().add_collective(
      steps_.id(at, fmt::format("broadcast/buffers-s{}t{}", at.stage, at.tensor)),
      steps_.stream(at.rank, "dp"),
      {.kind = CollectiveKind::kBroadcast,
       .group = group,
       .bytes = {buffers * 4},
       .algorithm = "auto",
       .root = steps_.device(root.rank)}));
}

// The running statistics of norms must be there before the first block of the step.
std::vector<OpId> BucketedAllReduce::before_block(const RankStep&, std::size_t, Pass pass) {
  return pass == Pass::kForward ? std::exchange(broadcasts_, {}) : std::vector<OpId>();
}

void BucketedAllReduce::gradients_ready(const RankStep& at,
                                        const std::vector<std::size_t>& layers,
                                        OpId op) {
  if (steps_.layout().replicas == 1) {
    return;
  }
  const Buckets& buckets = buckets_of(at);
  for (const std::size_t layer : layers) {
    for (const std::size_t bucket : buckets.of_layer.at(layer)) {
      --missing_[bucket];
      ready_[bucket] = op;
    }
  }
  if (!steps_.job().parallelism.overlap) {
    return;
  }
  while (next_ < missing_.size() && missing_[next_] == 0) {
    emit(at, buckets, next_, ready_[next_]);
    ++next_;
  }
}

std::vector<OpId> BucketedAllReduce::reduced(const RankStep& at) {
  if (steps_.layout().replicas > 1) {
    const Buckets& buckets = buckets_of(at);
    const OpId last = ready_.empty() ? no_id<OpId>() : ready_.back();
    for (; next_ < missing_.size(); ++next_) {
      emit(at, buckets, next_, last);
    }
  }
  std::vector<OpId> out = std::move(reductions_);
  await_gradients(at);  // of the next micro-batch, where weights are updated after each
  return out;
}

Store BucketedAllReduce::gradient_store() const {
  const bool copies = steps_.layout().replicas > 1 && !steps_.job().ddp.gradient_as_bucket_view;
  return copies ? Store::kReduced : Store::kGradients;
}

void BucketedAllReduce::emit(const RankStep& at,
                             const Buckets& buckets,
                             std::size_t bucket,
                             OpId ready) {
  const Job& job = steps_.job();
  const Bytes bytes{buckets.elements[bucket] * stored_bytes(job.training.dtype)};
  OpId after = ready;
  if (!job.ddp.gradient_as_bucket_view) {  // gradients are copied into the bucket
    after = steps_.plan().add_compute(steps_.id(at, fmt::format("bucket{}/copy", bucket)),
                                      steps_.stream(at.rank, "compute"),
                                      {0, {2 * bytes.count}, job.training.dtype, std::nullopt});
    steps_.set_payload(after, Payloads::elements(Verb::kCopy, Store::kGradients, Store::kReduced,
                                                 at.tensor, buckets.ranges[bucket]));
  }
  const OpId reduced = steps_.plan().add_collective(
      steps_.id(at, fmt::format("all_reduce/bucket{}-s{}t{}", bucket, at.stage, at.tensor)),
      steps_.stream(at.rank, "dp"),
      {.kind = CollectiveKind::kAllReduce,
       .group = steps_.replica_group(at),
       .bytes = bytes,
       .algorithm = job.parallelism.all_reduce_algorithm,
       .dtype = job.training.dtype});
  steps_.plan().depend(reduced, after);
  steps_.set_payload(reduced,
                     Payloads::elements(gradient_store(), at.tensor, buckets.ranges[bucket]));
  reductions_.push_back(reduced);
}

}  // namespace twinrun
