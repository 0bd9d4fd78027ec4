#include "exec/cuda/checked_exchanges.h"

#include <span>
#include <vector>

namespace twinrun::exec {
namespace {

// All that an exchange writes.
std::vector<std::span<float>> results_of(const MovedData& data) {
  std::vector<std::span<float>> out = data.ranges;
  for (const auto& from : data.from_each) {
    out.insert(out.end(), from.begin(), from.end());
  }
  return out;
}

}  // namespace

CheckedExchanges::CheckedExchanges(const Plan& plan, GpuMachine& machine, const LocalDevices& here)
    : plan_(plan),
      machine_(machine),
      on_host_(plan, here, [this](StreamId stream, std::size_t elements) {
        return allocate(stream, elements);
      }) {}

std::span<float> CheckedExchanges::allocate(StreamId stream, std::size_t elements) {
  const std::span<float> on_host = machine_.allocate_on_host(elements);
  areas_[on_host.data()] = machine_.allocate(plan_.stream_device(stream), elements).data();
  return on_host;
}

std::span<float> CheckedExchanges::on_gpu(std::span<float> on_host) const {
  const auto& [begin, there] = *--areas_.upper_bound(on_host.data());
  return {there + (on_host.data() - begin), on_host.size()};
}

MovedData CheckedExchanges::moved(OpId op) {
  if (plan_.kind(op) == OpKind::kCollective && plan_.shape(op).kind == CollectiveKind::kBarrier) {
    return {};
  }
  MovedData out = on_host_.moved(op);
  for (std::span<float>& range : out.ranges) {
    range = on_gpu(range);
  }
  for (std::vector<std::span<float>>& from : out.from_each) {
    for (std::span<float>& range : from) {
      range = on_gpu(range);
    }
  }
  return out;
}

void CheckedExchanges::compute(OpId op) {
  if (!machine_.is_prepared()) {
    return;
  }
  const GpuStream& stream = machine_.stream_of(op);
  GpuRuntime& runtime = machine_.runtime();
  if (const OpId last = on_host_.looked_at_by(op); last != no_id<OpId>()) {
    for (const std::span<float> range : results_of(on_host_.moved(last))) {
      if (!range.empty()) {
        runtime.copy(stream, range.data(), on_gpu(range).data(), range.size_bytes());
      }
    }
  }
  machine_.call(stream, [this, op] { on_host_.compute(op); });
  if (const OpId next = on_host_.filled_by(op); next != no_id<OpId>()) {
    for (const std::span<float> range : on_host_.moved(next).ranges) {
      if (!range.empty()) {
        runtime.copy(stream, on_gpu(range).data(), range.data(), range.size_bytes());
      }
    }
  }
}

}  // namespace twinrun::exec
