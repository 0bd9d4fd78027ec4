#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/plan/plan.h"
#include "exec/cuda/gpu_machine.h"
#include "exec/training/tensor_kernels.h"

namespace twinrun::exec {

// What a host does for its ops: calls in the order of a stream, which compute as exec/cpu does.
// While the machine is not prepared nothing is enqueued, and scratch is asked for.
class HostKernels : public TensorKernels {
 public:
  HostKernels(GpuMachine& machine, StreamId stream)
      : machine_(machine), id_(stream), stream_(machine.stream(stream)) {}

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
  // What is collected to be done in one call, and copied to GPUs after it.
  struct Exclusive {
    std::vector<std::function<void(CpuKernels&)>> calls;
    struct Copy {
      std::size_t first = 0;  // element of the scratch
      std::span<float> into;
    };
    std::vector<Copy> copies;
    std::size_t elements = 0;  // of scratch
  };
  void call(std::function<void(CpuKernels&)> function);
  void copy_to_gpu(std::span<float> from, std::span<float> into, bool takes);

  GpuMachine& machine_;
  StreamId id_;
  const GpuStream& stream_;
  std::optional<Exclusive> exclusive_;
};

}  // namespace twinrun::exec
