#include "exec/cpu/device_memory.h"

#include <algorithm>
#include <new>

#include "core/base/check.h"
#include "core/collective/schedule.h"
#include "exec/cpu/update_rules.h"

namespace twinrun::exec {
namespace {

constexpr std::int64_t kCopiesOfBatch = 2;

}  // namespace

DeviceMemory::DeviceMemory(const Plan& plan, const LocalDevices& here)
    : rows_(plan.workload().global_batch), elements_(element_count(plan.workload())) {
  for (const LayerShare& share : layer_shares(plan.workload())) {
    widths_.push_back(share.inputs);
  }
  widths_.push_back(0);  // behind the loss there is nothing
  const int moments = moments_of(optimizer_named(plan.workload().optimizer));
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const OpId op = id_at<OpId>(i);
    const Payload* const payload = plan.payload(op);
    const DeviceId device = plan.device(op);
    if (payload == nullptr || !here.has(device)) {
      continue;
    }
    add_pass(device, *payload);
    for (const Store store : {payload->source, payload->target}) {
      const bool is_array = store != Store::kNone && store != Store::kSamples;
      if (is_array) {
        add(key_of(device, store, *payload), size_of(store, payload->layer));
      }
    }
    for (int moment = 1; payload->verb == Verb::kUpdate && moment <= moments; ++moment) {
      Key key = key_of(device, payload->target, *payload);
      key.moment = static_cast<std::uint32_t>(moment);
      add(key, elements_);
    }
  }
}

std::int64_t DeviceMemory::size_of(Store store, std::size_t boundary) const {
  const std::int64_t copies = store == Store::kBatches ? kCopiesOfBatch : 1;
  return has_rows(store) ? copies * rows_ * widths_[boundary] : elements_;
}

std::span<float> DeviceMemory::batch(DeviceId device,
                                     std::int64_t step,
                                     const CountRange& samples) const {
  const std::int64_t first = step % kCopiesOfBatch * rows_ + samples.begin;
  return {row(device, Store::kBatches, 0, first),
          static_cast<std::size_t>(samples.size() * widths_.front())};
}

// What a layer reads and writes; its payload names the layer alone.
void DeviceMemory::add_pass(DeviceId device, const Payload& payload) {
  const bool is_pass = payload.verb == Verb::kForward || payload.verb == Verb::kBackwardInput ||
                       payload.verb == Verb::kBackwardWeight;
  if (!is_pass) {
    return;
  }
  for (const std::uint32_t boundary : {payload.layer, payload.layer + 1}) {
    for (const Store store : {Store::kActivations, Store::kActivationGradients}) {
      add({device, store, boundary}, rows_ * widths_[boundary]);
    }
  }
  add({device, Store::kParameters, payload.tensor_rank}, elements_);
  add({device, Store::kGradients, payload.tensor_rank}, elements_);
}

DeviceMemory::Key DeviceMemory::key_of(DeviceId device, Store store, const Payload& payload) {
  return {device, store, has_rows(store) ? payload.layer : payload.tensor_rank,
          store == Store::kArrived ? payload.sender : no_id<DeviceId>()};
}

void DeviceMemory::add(const Key& key, std::int64_t elements) {
  if (arrays_.contains(key)) {
    return;
  }
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(elements, 1));
  auto* const array = static_cast<float*>(std::calloc(count, sizeof(float)));
  if (array == nullptr) {
    throw std::bad_alloc();
  }
  arrays_.emplace(key, array);
}

float* DeviceMemory::array(const Key& key) const {
  const auto found = arrays_.find(key);
  TWINRUN_CHECK(found != arrays_.end());
  return found->second.get();
}

float* DeviceMemory::row(DeviceId device,
                         Store store,
                         std::size_t boundary,
                         std::int64_t sample) const {
  return array({device, store, static_cast<std::uint32_t>(boundary)}) + sample * widths_[boundary];
}

std::vector<std::span<float>> DeviceMemory::ranges(DeviceId device,
                                                   Store store,
                                                   const Payload& payload,
                                                   bool is_whole) const {
  std::vector<CountRange> wanted = payload.elements;
  if (has_rows(store)) {
    const std::int64_t row = widths_[payload.layer];
    wanted = {{payload.samples.begin * row, payload.samples.end * row}};
  }
  float* const base = array(key_of(device, store, payload));
  std::vector<std::span<float>> out;
  for (const CountRange& range : wanted) {
    const ByteRange share =
        is_whole ? ByteRange{range.begin, range.end}
                 : chunk_of(ByteRange{range.begin, range.end}, 1, payload.shares, payload.share);
    out.emplace_back(base + share.begin, static_cast<std::size_t>(share.size()));
  }
  return out;
}

}  // namespace twinrun::exec
