#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

#include "core/base/ids.h"
#include "exec/training/tensor_kernels.h"

namespace twinrun::exec {

class TrainingData;

// Where a device finds the samples of TrainingData, which has the same rows in the same order.
struct SamplePlace {
  float* inputs = nullptr;
  const float* targets = nullptr;
  const std::int64_t* labels = nullptr;
};

// Who has the memory of a plan's devices, and computes for its ops.
class TensorMachine {
 public:
  TensorMachine() = default;
  TensorMachine(const TensorMachine&) = delete;
  TensorMachine& operator=(const TensorMachine&) = delete;
  virtual ~TensorMachine() = default;

  // ---- before the run; all memory is the machine's
  // Zeros. std::bad_alloc or std::runtime_error when there is not so much.
  virtual std::span<float> allocate(DeviceId device, std::size_t elements) = 0;
  // That the host can read.
  virtual std::span<double> allocate_losses(std::size_t count) = 0;
  virtual SamplePlace place_samples(DeviceId device, TrainingData& data) = 0;
  virtual void write(std::span<const float> from, std::span<float> into) = 0;

  // ---- during the run
  virtual TensorKernels& kernels(OpId op) = 0;
  // To be held by whoever reads arrays of that device that others may write meanwhile; none where
  // that is done by other means.
  virtual std::mutex* lock_of(DeviceId device) = 0;

  // ---- after the run
  virtual void read(std::span<const float> from, std::span<float> into) const = 0;
};

}  // namespace twinrun::exec
