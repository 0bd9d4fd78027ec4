#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "core/base/dtype.h"
#include "core/plan/plan.h"
#include "exec/cuda/gpu_machine.h"
#include "exec/training/tensor_kernels.h"

namespace twinrun::exec {

// How products round their operands for ops of a dtype; CannotRun when there is no such way.
ProductMode product_mode(Dtype dtype);

// Enqueues on a GPU's stream. While the machine is not prepared nothing is enqueued, and scratch is
// asked for.
class GpuKernels : public TensorKernels {
 public:
  GpuKernels(GpuMachine& machine, StreamId stream)
      : machine_(machine),
        runtime_(machine.runtime()),
        id_(stream),
        stream_(machine.stream(stream)) {}

  void set_dtype(Dtype dtype) { dtype_ = dtype; }  // of the op at hand

  void multiply(const MatrixProduct& product) override;
  void spread_bias(std::span<const float> bias, std::int64_t rows, float* output) override;
  void sum_rows(const float* from,
                std::int64_t rows,
                std::span<float> into,
                bool accumulates) override;
  void activate(Activation kind, std::span<const float> input, std::span<float> output) override;
  void activate_backward(Activation kind,
                         std::span<const float> output,
                         std::span<const float> output_gradient,
                         std::span<float> input_gradient) override;
  void losses(const LossRows& rows, std::span<double> on_host) override;
  void loss_gradient(const LossRows& rows, float* gradient) override;
  void update(const UpdateNumbers& rule, const UpdatedArrays& arrays) override;
  void copy(std::span<float> from, std::span<float> into, bool takes) override;
  void add(std::span<float> from, std::span<float> into, bool takes) override;
  void replace(std::span<const float> from, std::span<float> into) override;
  void fill(std::span<float> array, float value) override;
  void exclusively(DeviceId device, const std::function<void()>& work) override;

 private:
  [[nodiscard]] bool is_measured() const { return !machine_.is_prepared(); }
  [[nodiscard]] TileLocks locks(const float* pointer) const;
  void copy_away(std::span<const float> from, std::span<float> into, const DevicePlace& to);
  void copy_in_pieces(std::span<const float> from, std::span<float> into);
  void add_on_host(std::span<float> from, std::span<float> into, DeviceId host);
  void add_on_other(std::span<float> from, std::span<float> into, const DevicePlace& to);

  GpuMachine& machine_;
  GpuRuntime& runtime_;
  StreamId id_;
  const GpuStream& stream_;
  Dtype dtype_ = Dtype::kFp32;
  bool is_exclusive_ = false;
};

}  // namespace twinrun::exec
