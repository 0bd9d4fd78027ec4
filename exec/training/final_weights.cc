#include "exec/training/final_weights.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "exec/training/training_work.h"

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

std::vector<UpdatedWeights> TrainingWork::updated_weights() const {
  std::vector<UpdatedWeights> out;
  std::set<std::pair<DeviceId, const Payload*>> seen;
  const std::map<DeviceId, std::uint32_t> newest = newest_versions(plan_);
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    const OpId op = id_at<OpId>(i);
    const Payload* const payload = plan_.payload(op);
    const bool is_update =
        payload != nullptr && payload->verb == Verb::kUpdate && here_.has(plan_.device(op));
    const bool is_newest = is_update && payload->version == newest.at(plan_.device(op));
    if (!is_newest || !seen.insert({plan_.device(op), payload}).second) {
      continue;
    }
    const float* const base =
        memory_.array(DeviceMemory::key_of(plan_.device(op), payload->target, *payload));
    for (const std::span<float> range :
         memory_.ranges({plan_.device(op), payload->target}, *payload)) {
      UpdatedWeights& weights = out.emplace_back(
          UpdatedWeights{payload->tensor_rank, static_cast<std::size_t>(range.data() - base),
                         std::vector<float>(range.size())});
      machine_.read(range, weights.values);
    }
  }
  return out;
}

std::vector<float> whole_model(const Workload& workload, std::span<const UpdatedWeights> updated) {
  const auto elements = static_cast<std::size_t>(element_count(workload));
  std::vector<std::vector<float>> by_rank(static_cast<std::size_t>(workload.tensor_ranks),
                                          std::vector<float>(elements));
  for (const UpdatedWeights& range : updated) {
    std::copy(range.values.begin(), range.values.end(),
              by_rank[range.tensor_rank].begin() + static_cast<std::ptrdiff_t>(range.first));
  }
  const std::vector<LayerShare> shares = layer_shares(workload);
  std::vector<float> out;
  for (std::size_t i = 0; i < workload.layers.size(); ++i) {
    const WorkLayer& layer = workload.layers[i];
    if (layer.kind != WorkKind::kLinear) {
      continue;
    }
    const std::size_t first = out.size();
    out.resize(first + static_cast<std::size_t>(layer.outputs * layer.inputs +
                                                (layer.has_bias ? layer.outputs : 0)));
    for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
      put_layer(layer, shares[i], static_cast<std::int64_t>(rank),
                by_rank[rank].data() + shares[i].first_element, out.data() + first);
    }
  }
  return out;
}

float largest_disagreement(const Workload& workload, std::span<const UpdatedWeights> updated) {
  const auto elements = static_cast<std::size_t>(element_count(workload));
  std::vector<std::vector<const float*>> first_owner(
      static_cast<std::size_t>(workload.tensor_ranks), std::vector<const float*>(elements));
  float most = 0;
  for (const UpdatedWeights& range : updated) {
    for (std::size_t i = 0; i < range.values.size(); ++i) {
      const float*& owner = first_owner[range.tensor_rank][range.first + i];
      owner = owner == nullptr ? &range.values[i] : owner;
      most = std::max(most, std::abs(*owner - range.values[i]));
    }
  }
  return most;
}

std::vector<double> mean_losses(const Workload& workload, std::span<const double> of_samples) {
  std::vector<double> out;
  const auto batch = static_cast<std::size_t>(workload.global_batch);
  for (std::size_t first = 0; first < of_samples.size(); first += batch) {
    double sum = 0;
    for (std::size_t i = 0; i < batch; ++i) {
      sum += of_samples[first + i];
    }
    out.push_back(sum / static_cast<double>(batch));
  }
  return out;
}

}  // namespace twinrun::exec
