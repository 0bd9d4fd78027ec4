#pragma once

#include <cstdint>
#include <span>

#include "exec/cpu/matrix_product.h"

// The layers that are computed for real, on one device. Matrices have a row for each sample.
namespace twinrun::exec {

// Outputs (n) of a linear layer from its inputs (k): Y = X · Wᵀ + b, W with n rows of k.
struct LinearShape {
  std::int64_t samples = 0;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
};
// An empty bias adds nothing.
void linear_forward(const Products& products,
                    const LinearShape& shape,
                    const float* input,
                    const float* weight,
                    std::span<const float> bias,
                    float* output);
void linear_backward_input(const Products& products,
                           const LinearShape& shape,
                           const float* output_gradient,
                           const float* weight,
                           float* input_gradient);
struct LinearGradients {
  float* weight = nullptr;
  std::span<float> bias;
  bool accumulates = false;  // adds to what is there, or replaces it
};
void linear_backward_weight(const Products& products,
                            const LinearShape& shape,
                            const float* output_gradient,
                            const float* input,
                            const LinearGradients& gradients);

void relu_forward(std::span<const float> input, std::span<float> output);
void relu_backward(std::span<const float> output,
                   std::span<const float> output_gradient,
                   std::span<float> input_gradient);
void tanh_forward(std::span<const float> input, std::span<float> output);
void tanh_backward(std::span<const float> output,
                   std::span<const float> output_gradient,
                   std::span<float> input_gradient);

// Losses of one sample; gradients are divided by the samples of the whole batch, so that the sum
// over all replicas is the gradient of the mean.
double softmax_cross_entropy(std::span<const float> logits, std::int64_t label);
void softmax_cross_entropy_gradient(std::span<const float> logits,
                                    std::int64_t label,
                                    float scale,
                                    std::span<float> gradient);
double mean_squares(std::span<const float> output, std::span<const float> target);
void mean_squares_gradient(std::span<const float> output,
                           std::span<const float> target,
                           float scale,
                           std::span<float> gradient);
// Of integers: the sum of distances, with a gradient of -1, 0 or 1 (Huber's loss far from 0), so
// that all sums stay whole numbers below 2^24 and are exact in any order.
double distance(std::span<const float> output, std::span<const float> target);
void distance_gradient(std::span<const float> output,
                       std::span<const float> target,
                       std::span<float> gradient);

}  // namespace twinrun::exec
