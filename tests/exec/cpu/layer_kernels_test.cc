#include "exec/cpu/layer_kernels.h"

#include <cmath>
#include <functional>
#include <mutex>
#include <vector>

#include <gtest/gtest.h>

#include "exec/cpu/cpu_machine.h"
#include "exec/training/linear_layer.h"

// Gradients are compared with differences: f(x + h) - f(x - h) over 2 h.

namespace twinrun::exec {
namespace {

using Vector = std::vector<float>;
using Function = std::function<double(const Vector&)>;

constexpr float kStep = 1e-2F;

void expect_gradient(const Function& function, const Vector& at, const Vector& gradient) {
  for (std::size_t i = 0; i < at.size(); ++i) {
    Vector more = at;
    Vector less = at;
    more[i] += kStep;
    less[i] -= kStep;
    const double slope = (function(more) - function(less)) / (2 * kStep);
    EXPECT_NEAR(gradient[i], slope, 2e-3) << i;
  }
}

double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += static_cast<double>(a[i]) * b[i];
  }
  return sum;
}

struct Linear {
  Products products{ProductLibrary::kBuiltIn};
  std::vector<std::mutex> no_devices;
  mutable CpuKernels kernels{products, no_devices};
  LinearShape shape{2, 3, 2};  // samples, inputs, outputs
  Vector input = {0.5F, -1, 2, 1, 0.25F, -0.5F};
  Vector weight = {1, 2, -1, 0.5F, 0, 1};
  Vector bias = {0.1F, -0.2F};
  Vector upstream = {1, -2, 0.5F, 3};  // gradient of the output

  [[nodiscard]] double loss(const Vector& x, const Vector& w, const Vector& b) const {
    Vector output(4);
    linear_forward(kernels, shape, x.data(), w.data(), b, output.data());
    return dot(output, upstream);
  }
};

TEST(Linear, MultipliesAndAddsItsBias) {
  const Linear linear;
  Vector output(4);
  linear_forward(linear.kernels, linear.shape, linear.input.data(), linear.weight.data(),
                 linear.bias, output.data());
  EXPECT_FLOAT_EQ(output[0], 0.5F - 2 - 2 + 0.1F);
  EXPECT_FLOAT_EQ(output[3], 0.5F - 0.5F - 0.2F);
}

TEST(Linear, HasTheGradientsOfItsDifferences) {
  const Linear linear;
  Vector input_gradient(6);
  linear_backward_input(linear.kernels, linear.shape, linear.upstream.data(), linear.weight.data(),
                        input_gradient.data());
  expect_gradient([&](const Vector& x) { return linear.loss(x, linear.weight, linear.bias); },
                  linear.input, input_gradient);
  Vector weight_gradient(6, 7);
  Vector bias_gradient(2, 7);
  linear_backward_weight(linear.kernels, linear.shape, linear.upstream.data(), linear.input.data(),
                         {weight_gradient.data(), bias_gradient, false});
  expect_gradient([&](const Vector& w) { return linear.loss(linear.input, w, linear.bias); },
                  linear.weight, weight_gradient);
  expect_gradient([&](const Vector& b) { return linear.loss(linear.input, linear.weight, b); },
                  linear.bias, bias_gradient);
}

TEST(Linear, AccumulatesOverMicroBatches) {
  const Linear linear;
  Vector once(6);
  Vector once_bias(2);
  linear_backward_weight(linear.kernels, linear.shape, linear.upstream.data(), linear.input.data(),
                         {once.data(), once_bias, false});
  Vector twice = once;
  Vector twice_bias = once_bias;
  linear_backward_weight(linear.kernels, linear.shape, linear.upstream.data(), linear.input.data(),
                         {twice.data(), twice_bias, true});
  for (std::size_t i = 0; i < once.size(); ++i) {
    EXPECT_FLOAT_EQ(twice[i], 2 * once[i]);
  }
  EXPECT_FLOAT_EQ(twice_bias[1], 2 * once_bias[1]);
}

TEST(Activations, HaveTheGradientsOfTheirDifferences) {
  const Vector at = {-1.5F, -0.3F, 0.4F, 2};
  const Vector upstream = {1, 2, -3, 0.5F};
  for (const bool is_relu : {true, false}) {
    const auto forward = is_relu ? relu_forward : tanh_forward;
    const auto backward = is_relu ? relu_backward : tanh_backward;
    Vector output(4);
    Vector gradient(4);
    forward(at, output);
    backward(output, upstream, gradient);
    expect_gradient(
        [&](const Vector& x) {
          Vector y(4);
          forward(x, y);
          return dot(y, upstream);
        },
        at, gradient);
  }
}

TEST(SoftmaxCrossEntropy, OfEqualLogitsIsTheLogarithmOfTheClasses) {
  EXPECT_NEAR(softmax_cross_entropy(Vector{5, 5, 5, 5}, 2), std::log(4.0), 1e-9);
}

TEST(Losses, HaveTheGradientsOfTheirDifferences) {
  const Vector at = {0.5F, -1, 2};
  const Vector target = {1, 0, -1};
  Vector gradient(3);
  softmax_cross_entropy_gradient(at, 1, 1, gradient);
  expect_gradient([](const Vector& x) { return softmax_cross_entropy(x, 1); }, at, gradient);
  mean_squares_gradient(at, target, 1, gradient);
  expect_gradient([&](const Vector& x) { return mean_squares(x, target); }, at, gradient);
}

TEST(Losses, AreScaledByTheWholeBatch) {
  Vector whole(3);
  Vector quarter(3);
  softmax_cross_entropy_gradient(Vector{0.5F, -1, 2}, 0, 1, whole);
  softmax_cross_entropy_gradient(Vector{0.5F, -1, 2}, 0, 0.25F, quarter);
  EXPECT_FLOAT_EQ(quarter[2], whole[2] / 4);
}

TEST(Distance, OfIntegersHasGradientsOfUnits) {
  Vector gradient(3);
  distance_gradient(Vector{3, -4, 1}, Vector{1, 2, 1}, gradient);
  EXPECT_EQ(gradient, (Vector{1, -1, 0}));
  EXPECT_EQ(distance(Vector{3, -4, 1}, Vector{1, 2, 1}), 8);
}

}  // namespace
}  // namespace twinrun::exec
