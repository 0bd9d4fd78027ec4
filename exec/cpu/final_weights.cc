#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "exec/cpu/training_work.h"

namespace twinrun::exec {
namespace {

// The version that each device's last update wrote.
std::map<DeviceId, std::uint32_t> newest_versions(const Plan& plan) {
  std::map<DeviceId, std::uint32_t> newest;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const OpId op = id_at<OpId>(i);
    const Payload* const payload = plan.payload(op);
    if (payload != nullptr && payload->verb == Verb::kUpdate) {
      newest[plan.device(op)] = payload->version;
    }
  }
  return newest;
}

// Calls once for each range of weights that some device updates.
void for_each_updated(
    const Plan& plan,
    const DeviceMemory& memory,
    const std::function<void(std::uint32_t tensor_rank, std::size_t first, std::span<float>)>&
        call) {
  std::set<std::pair<DeviceId, const Payload*>> seen;
  const std::map<DeviceId, std::uint32_t> newest = newest_versions(plan);
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const OpId op = id_at<OpId>(i);
    const Payload* const payload = plan.payload(op);
    const bool is_update = payload != nullptr && payload->verb == Verb::kUpdate;
    const bool is_newest = is_update && payload->version == newest.at(plan.device(op));
    if (!is_newest || !seen.insert({plan.device(op), payload}).second) {
      continue;
    }
    const float* const base =
        memory.array(DeviceMemory::key_of(plan.device(op), payload->target, *payload));
    for (const std::span<float> range :
         memory.ranges({plan.device(op), payload->target}, *payload)) {
      call(payload->tensor_rank, static_cast<std::size_t>(range.data() - base), range);
    }
  }
}

// The share of one tensor-parallel rank in the whole layer.
void put_layer(const WorkLayer& layer,
               const LayerShare& share,
               std::int64_t tensor_rank,
               const float* from,
               float* into) {
  const std::int64_t first_row =
      layer.division == LayerDivision::kColumns ? tensor_rank * share.outputs : 0;
  const std::int64_t first_column =
      layer.division == LayerDivision::kRows ? tensor_rank * share.inputs : 0;
  for (std::int64_t row = 0; row < share.outputs && share.weight > 0; ++row) {
    std::copy_n(from + row * share.inputs, share.inputs,
                into + (first_row + row) * layer.inputs + first_column);
  }
  std::copy_n(from + share.weight, share.bias, into + layer.outputs * layer.inputs + first_row);
}

}  // namespace

std::vector<float> TrainingWork::weights() const {
  const auto elements = static_cast<std::size_t>(element_count(workload_));
  std::vector<std::vector<float>> by_rank(static_cast<std::size_t>(workload_.tensor_ranks),
                                          std::vector<float>(elements));
  for_each_updated(plan_, memory_,
                   [&](std::uint32_t tensor_rank, std::size_t first, std::span<float> range) {
                     std::copy(range.begin(), range.end(),
                               by_rank[tensor_rank].begin() + static_cast<std::ptrdiff_t>(first));
                   });
  std::vector<float> out;
  for (std::size_t i = 0; i < workload_.layers.size(); ++i) {
    const WorkLayer& layer = workload_.layers[i];
    if (layer.kind != WorkKind::kLinear) {
      continue;
    }
    const std::size_t first = out.size();
    out.resize(first + static_cast<std::size_t>(layer.outputs * layer.inputs +
                                                (layer.has_bias ? layer.outputs : 0)));
    for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
      put_layer(layer, shares_[i], static_cast<std::int64_t>(rank),
                by_rank[rank].data() + shares_[i].first_element, out.data() + first);
    }
  }
  return out;
}

float TrainingWork::largest_disagreement() const {
  const auto elements = static_cast<std::size_t>(element_count(workload_));
  std::vector<std::vector<const float*>> first_owner(
      static_cast<std::size_t>(workload_.tensor_ranks), std::vector<const float*>(elements));
  float most = 0;
  for_each_updated(plan_, memory_,
                   [&](std::uint32_t tensor_rank, std::size_t first, std::span<float> range) {
                     for (std::size_t i = 0; i < range.size(); ++i) {
                       const float*& owner = first_owner[tensor_rank][first + i];
                       owner = owner == nullptr ? &range[i] : owner;
                       most = std::max(most, std::abs(*owner - range[i]));
                     }
                   });
  return most;
}

}  // namespace twinrun::exec
