#pragma once

#include <cstdint>
#include <span>

#include "exec/training/tensor_kernels.h"

// A linear layer on one device. Matrices have a row for each sample.
namespace twinrun::exec {

// Outputs (n) of a linear layer from its inputs (k): Y = X · Wᵀ + b, W with n rows of k.
struct LinearShape {
  std::int64_t samples = 0;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
};
// An empty bias adds nothing.
void linear_forward(TensorKernels& kernels,
                    const LinearShape& shape,
                    const float* input,
                    const float* weight,
                    std::span<const float> bias,
                    float* output);
void linear_backward_input(TensorKernels& kernels,
                           const LinearShape& shape,
                           const float* output_gradient,
                           const float* weight,
                           float* input_gradient);
struct LinearGradients {
  float* weight = nullptr;
  std::span<float> bias;
  bool accumulates = false;  // adds to what is there, or replaces it
};
void linear_backward_weight(TensorKernels& kernels,
                            const LinearShape& shape,
                            const float* output_gradient,
                            const float* input,
                            const LinearGradients& gradients);

}  // namespace twinrun::exec
