#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/plan/workload.h"

namespace twinrun::exec {

// Weights that a device updated, at the end of the run.
struct UpdatedWeights {
  std::uint32_t tensor_rank = 0;
  std::size_t first = 0;  // element of that rank's share
  std::vector<float> values;
};

// The whole model, layer by layer, from all devices that update it.
std::vector<float> whole_model(const Workload& workload, std::span<const UpdatedWeights> updated);
// Between devices that update the same element: 0 when all replicas agree.
float largest_disagreement(const Workload& workload, std::span<const UpdatedWeights> updated);
// By step: the mean over the batch.
std::vector<double> mean_losses(const Workload& workload, std::span<const double> of_samples);

}  // namespace twinrun::exec
