#pragma once

#include <cstdlib>
#include <memory>
#include <mutex>
#include <vector>

#include "core/plan/plan.h"
#include "exec/cpu/matrix_product.h"
#include "exec/training/tensor_machine.h"

namespace twinrun::exec {

// Loops over elements, at once; for what others may do meanwhile there is one mutex a device.
class CpuKernels : public TensorKernels {
 public:
  CpuKernels(const Products& products, std::vector<std::mutex>& device_locks)
      : products_(products), device_locks_(device_locks) {}

  void multiply(const MatrixProduct& product) override { products_.multiply(product); }
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
  const Products& products_;
  std::vector<std::mutex>& device_locks_;  // by device
};

// The devices of a plan are memory of this process, and whoever calls computes. Pages that nobody
// touches take no memory.
class CpuMachine : public TensorMachine {
 public:
  CpuMachine(const Plan& plan, ProductLibrary library);

  std::span<float> allocate(DeviceId device, std::size_t elements) override;
  std::span<double> allocate_losses(std::size_t count) override;
  SamplePlace place_samples(DeviceId device, TrainingData& data) override;
  void write(std::span<const float> from, std::span<float> into) override;
  TensorKernels& kernels(OpId /*op*/) override { return kernels_; }
  std::mutex* lock_of(DeviceId device) override { return &device_locks_[index_of(device)]; }
  void read(std::span<const float> from, std::span<float> into) const override;

  [[nodiscard]] const Products& products() const { return products_; }

 private:
  struct Free {
    void operator()(float* array) const { std::free(array); }
  };

  Products products_;
  std::vector<std::mutex> device_locks_;  // by device: a server's streams write the same arrays
  CpuKernels kernels_;
  std::vector<std::unique_ptr<float[], Free>> arrays_;
  std::vector<std::vector<double>> losses_;
};

}  // namespace twinrun::exec
