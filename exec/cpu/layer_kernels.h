#pragma once

#include <cstdint>
#include <span>

#include "exec/training/tensor_kernels.h"

// Loops over elements and rows: what a CPU does for the layers that are computed for real.
namespace twinrun::exec {

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
// Of integers, see LossKind::kDistance.
double distance(std::span<const float> output, std::span<const float> target);
void distance_gradient(std::span<const float> output,
                       std::span<const float> target,
                       std::span<float> gradient);

// Of each element; moments that the rule does not have are not read.
void update_weights(const UpdateNumbers& rule, const UpdatedArrays& arrays);

}  // namespace twinrun::exec
