#include "exec/training/device_memory.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/collective/schedule.h"
#include "exec/training/update_rules.h"

namespace twinrun::exec {
namespace {

std::vector<DeviceId> senders_to(const Plan& plan, OpId op) {
  if (!is_exchange(plan, op)) {
    return {};
  }
  const auto devices = plan.group_devices(plan.shape(op).group);
  return {devices.begin(), devices.end()};
}

}  // namespace

DeviceMemory::DeviceMemory(const Plan& plan, TensorMachine& machine, const LocalDevices& here)
    : machine_(machine),
      rows_(plan.workload().global_batch),
      steps_in_flight_(plan.workload().steps_in_flight),
      batches_(plan.workload().batches_on_device),
      elements_(element_count(plan.workload())) {
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
    add_store(device, payload->source, *payload);
    add_store(target_device(plan, op), payload->target, *payload);
    for (const DeviceId sender : senders_to(plan, op)) {
      add({device, Store::kArrived, payload->tensor_rank, sender}, elements_);
    }
    for (int moment = 1; payload->verb == Verb::kUpdate && moment <= moments; ++moment) {
      add(moment_key(key_of(device, payload->target, *payload), moment), elements_);
    }
  }
}

bool is_exchange(const Plan& plan, OpId op) {
  return plan.kind(op) == OpKind::kCollective && plan.shape(op).kind == CollectiveKind::kAllToAll;
}

DeviceId target_device(const Plan& plan, OpId op) {
  return plan.kind(op) == OpKind::kCopy ? plan.copy(op).to : plan.device(op);
}

void DeviceMemory::add_store(DeviceId device, Store store, const Payload& payload) {
  if (store == Store::kNone || store == Store::kSamples) {
    return;
  }
  Key key = key_of(device, store, payload);
  if (!has_rows(store)) {
    for (key.version = 0; key.version < payload.versions; ++key.version) {
      add(key, elements_);
    }
    return;
  }
  for (std::uint32_t i = 0; i < payload.boundaries; ++i, ++key.number) {
    add(key, copies_of(store) * rows_ * widths_[key.number]);
  }
}

std::int64_t DeviceMemory::copies_of(Store store) const {
  return store == Store::kBatches ? batches_ : steps_in_flight_;
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
      add({device, store, boundary}, copies_of(store) * rows_ * widths_[boundary]);
    }
  }
  add_store(device, Store::kParameters, payload);
  add({device, Store::kGradients, payload.tensor_rank}, elements_);
}

DeviceMemory::Key DeviceMemory::key_of(DeviceId device, Store store, const Payload& payload) {
  return {device,
          store,
          has_rows(store) ? payload.layer : payload.tensor_rank,
          has_sender(store) ? payload.sender : no_id<DeviceId>(),
          0,
          store == Store::kParameters ? payload.version : 0};
}

DeviceMemory::Key DeviceMemory::moment_key(Key weights, int moment) {
  weights.moment = static_cast<std::uint32_t>(moment);
  weights.version = 0;  // all versions have the newest moments
  return weights;
}

void DeviceMemory::add(const Key& key, std::int64_t elements) {
  if (arrays_.contains(key)) {
    return;
  }
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(elements, 1));
  arrays_.emplace(key, machine_.allocate(key.device, count));
}

float* DeviceMemory::array(const Key& key) const {
  const auto found = arrays_.find(key);
  TWINRUN_CHECK(found != arrays_.end());
  return found->second.data();
}

float* DeviceMemory::row(DeviceId device,
                         Store store,
                         std::size_t boundary,
                         std::int64_t step,
                         std::int64_t sample) const {
  const std::int64_t row = step % copies_of(store) * rows_ + sample;
  return array({device, store, static_cast<std::uint32_t>(boundary)}) + row * widths_[boundary];
}

std::vector<std::span<float>> DeviceMemory::ranges(const Place& place,
                                                   const Payload& payload) const {
  std::vector<std::span<float>> out;
  const auto add_range = [&](float* base, const CountRange& range) {
    const ByteRange share = place.is_whole ? ByteRange{range.begin, range.end}
                                           : chunk_of(ByteRange{range.begin, range.end}, 1,
                                                      payload.shares, payload.share);
    out.emplace_back(base + share.begin, static_cast<std::size_t>(share.size()));
  };
  Key key = key_of(place.device, place.store, payload);
  if (!has_rows(place.store)) {
    for (const CountRange& range : payload.elements) {
      add_range(array(key), range);
    }
    return out;
  }
  const std::int64_t first = place.step % copies_of(place.store) * rows_;
  for (std::uint32_t i = 0; i < payload.boundaries; ++i, ++key.number) {
    const std::int64_t width = widths_[key.number];
    add_range(array(key),
              {(first + payload.samples.begin) * width, (first + payload.samples.end) * width});
  }
  return out;
}

std::vector<DeviceId> DeviceMemory::senders(DeviceId device, std::uint32_t tensor_rank) const {
  std::vector<DeviceId> out;
  for (const auto& [key, array] : arrays_) {
    const bool is_there = key.device == device && key.store == Store::kArrived &&
                          key.number == tensor_rank && key.sender != no_id<DeviceId>();
    if (is_there) {
      out.push_back(key.sender);
    }
  }
  return out;
}

}  // namespace twinrun::exec
