#include "core/strategy/packed_all_reduce.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/model/ddp_buckets.h"

namespace twinrun {
namespace {

constexpr double kPackMiB = 1 << 20;

Bytes pack_size(const DdpOptions& ddp) {
  return {ddp.bucket_cap_given ? static_cast<std::int64_t>(ddp.bucket_cap_mb * kPackMiB)
                               : std::numeric_limits<std::int64_t>::max() / 2};
}

}  // namespace

PackedAllReduce::PackedAllReduce(StepBuilder& steps) : steps_(steps) {
  for (std::size_t rank = 0; steps.layout().replicas > 1 && rank < steps.layout().ranks(); ++rank) {
    steps.hold(rank, MemoryPart::kBuffers,
               {steps.parameters_on(steps.at(rank, 0)) * stored_bytes(steps.job().training.dtype)});
  }
}

PackedAllReduce::Packs PackedAllReduce::make_packs(const RankStep& at) const {
  const std::vector<std::size_t> layers = steps_.layers_on(at);
  std::vector<std::int64_t> tensors;
  for (const std::size_t layer : layers) {
    const auto& of_layer = steps_.work()[layer].tensors;
    tensors.insert(tensors.end(), of_layer.begin(), of_layer.end());
  }
  const Bytes size = pack_size(steps_.job().ddp);
  Packs packs;
  packs.elements = ddp_buckets(tensors, {size, size, stored_bytes(steps_.job().training.dtype)});
  packs.layers.resize(packs.elements.size());
  packs.ranges.resize(packs.elements.size());
  std::size_t pack = 0;
  std::int64_t filled = 0;
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    const auto& of_layer = steps_.work()[*layer].tensors;
    for (auto tensor = of_layer.rbegin(); tensor != of_layer.rend(); ++tensor) {
      if (packs.layers[pack].empty() || packs.layers[pack].back() != *layer) {
        packs.layers[pack].push_back(*layer);
      }
      if (steps_.payloads().wanted()) {
        const auto number = static_cast<std::size_t>(of_layer.rend() - tensor) - 1;
        packs.ranges[pack].push_back(steps_.payloads().tensor(*layer, number));
      }
      filled += *tensor;
      if (filled == packs.elements[pack]) {
        packs.ranges[pack] = joined(std::move(packs.ranges[pack]));
        ++pack;
        filled = 0;
      }
    }
  }
  return packs;
}

const PackedAllReduce::Packs& PackedAllReduce::packs_of(const RankStep& at) {
  const auto known = by_stage_.find(at.stage);
  return known != by_stage_.end() ? known->second
                                  : by_stage_.emplace(at.stage, make_packs(at)).first->second;
}

void PackedAllReduce::begin_step(const RankStep& at) {
  missing_.clear();
  for (const std::vector<std::size_t>& layers : packs_of(at).layers) {
    missing_.push_back(layers.size());
  }
  next_ = 0;
  sums_.clear();
}

void PackedAllReduce::gradients_ready(const RankStep& at,
                                      const std::vector<std::size_t>& layers,
                                      OpId op) {
  if (steps_.layout().replicas == 1) {
    return;
  }
  const Packs& packs = packs_of(at);
  for (std::size_t pack = next_; pack < missing_.size(); ++pack) {
    for (const std::size_t layer : layers) {
      const auto& in = packs.layers[pack];
      missing_[pack] -= std::find(in.begin(), in.end(), layer) != in.end() ? 1U : 0U;
    }
  }
  for (; next_ < missing_.size() && missing_[next_] == 0; ++next_) {
    reduce(at, next_, op);
  }
}

// The concatenation stands in the compute stream, behind what made the gradients.
void PackedAllReduce::reduce(const RankStep& at, std::size_t pack, OpId ready) {
  const Job& job = steps_.job();
  const Bytes bytes{packs_of(at).elements[pack] * stored_bytes(job.training.dtype)};
  const OpId packed = steps_.plan().add_compute(
      steps_.id(at, fmt::format("pack{}/concat", pack)), steps_.stream(at.rank, "compute"),
      {0, {2 * bytes.count}, job.training.dtype, std::nullopt});
  steps_.plan().depend(packed, ready);
  const std::vector<CountRange>& ranges = packs_of(at).ranges[pack];
  steps_.set_payload(packed, Payloads::elements(Verb::kCopy, Store::kGradients, Store::kReduced,
                                                at.tensor, ranges));
  const OpId sum = steps_.plan().add_collective(
      steps_.id(at, fmt::format("all_reduce/pack{}-s{}t{}", pack, at.stage, at.tensor)),
      steps_.stream(at.rank, "dp"),
      {.kind = CollectiveKind::kAllReduce,
       .group = steps_.replica_group(at),
       .bytes = bytes,
       .algorithm = job.parallelism.all_reduce_algorithm,
       .dtype = job.training.dtype});
  steps_.plan().depend(sum, packed);
  steps_.set_payload(sum, Payloads::elements(Store::kReduced, at.tensor, ranges));
  sums_.push_back(sum);
}

std::vector<OpId> PackedAllReduce::reduced(const RankStep& at) {
  std::vector<OpId> taken_apart;
  for (std::size_t pack = 0; pack < sums_.size(); ++pack) {
    const Bytes bytes{packs_of(at).elements[pack] * stored_bytes(steps_.job().training.dtype)};
    taken_apart.push_back(steps_.plan().add_compute(
        steps_.id(at, fmt::format("pack{}/split", pack)), steps_.stream(at.rank, "compute"),
        {0, {2 * bytes.count}, steps_.job().training.dtype, std::nullopt}));
    steps_.plan().depend(taken_apart.back(), sums_[pack]);
    steps_.set_payload(taken_apart.back(),
                       Payloads::elements(Verb::kCopy, Store::kReduced, Store::kGradients,
                                          at.tensor, packs_of(at).ranges[pack]));
  }
  return taken_apart;
}

}  // namespace twinrun
