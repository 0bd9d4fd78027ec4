#include "exec/training/linear_layer.h"

namespace twinrun::exec {

void linear_forward(TensorKernels& kernels,
                    const LinearShape& shape,
                    const float* input,
                    const float* weight,
                    std::span<const float> bias,
                    float* output) {
  if (!bias.empty()) {
    kernels.spread_bias(bias, shape.samples, output);
  }
  kernels.multiply({.m = shape.samples,
                    .n = shape.outputs,
                    .k = shape.inputs,
                    .a = input,
                    .b = weight,
                    .c = output,
                    .transposes_b = true,
                    .accumulates = !bias.empty()});
}

void linear_backward_input(TensorKernels& kernels,
                           const LinearShape& shape,
                           const float* output_gradient,
                           const float* weight,
                           float* input_gradient) {
  kernels.multiply({.m = shape.samples,
                    .n = shape.inputs,
                    .k = shape.outputs,
                    .a = output_gradient,
                    .b = weight,
                    .c = input_gradient});
}

void linear_backward_weight(TensorKernels& kernels,
                            const LinearShape& shape,
                            const float* output_gradient,
                            const float* input,
                            const LinearGradients& gradients) {
  kernels.multiply({.m = shape.outputs,
                    .n = shape.inputs,
                    .k = shape.samples,
                    .a = output_gradient,
                    .b = input,
                    .c = gradients.weight,
                    .transposes_a = true,
                    .accumulates = gradients.accumulates});
  if (!gradients.bias.empty()) {
    kernels.sum_rows(output_gradient, shape.samples, gradients.bias, gradients.accumulates);
  }
}

}  // namespace twinrun::exec
