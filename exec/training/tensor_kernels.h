#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "core/base/ids.h"
#include "exec/training/element_math.h"

namespace twinrun::exec {

// C (m × n) = A · B, or added to it. Rows lie one after the other without gaps; a transposed
// operand lies as the matrix that it is the transpose of: A then has k rows of m, B n rows of k.
struct MatrixProduct {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  const float* a = nullptr;
  const float* b = nullptr;
  float* c = nullptr;
  bool transposes_a = false;
  bool transposes_b = false;
  bool accumulates = false;
};

enum class Activation : std::uint8_t { kRelu, kTanh };

// The last layer: what the model says of some samples, and what it should say.
struct LossRows {
  LossKind kind = LossKind::kSoftmaxCrossEntropy;
  std::int64_t rows = 0;
  std::int64_t width = 0;
  const float* output = nullptr;
  const float* targets = nullptr;        // rows of the same width …
  const std::int64_t* labels = nullptr;  // … or one class a row
  float scale = 1;                       // of gradients: they are summed, never averaged
};

// Arrays that an update reads and writes; moments that its rule does not have are empty.
struct UpdatedArrays {
  std::span<float> weights;
  std::span<float> gradients;
  std::span<float> first_moments;
  std::span<float> second_moments;
  bool takes = false;  // gradients are a sum: 0 is left behind
};

// What can be done with arrays of one device, in the order of the calls: at once on a CPU, sooner
// or later on the stream of a GPU. Nothing here says what is to be done; exec/training does.
class TensorKernels {
 public:
  TensorKernels() = default;
  TensorKernels(const TensorKernels&) = delete;
  TensorKernels& operator=(const TensorKernels&) = delete;
  virtual ~TensorKernels() = default;

  virtual void multiply(const MatrixProduct& product) = 0;
  // Each row is a copy of the bias: what a product is added to, instead of zeros.
  virtual void spread_bias(std::span<const float> bias, std::int64_t rows, float* output) = 0;
  // The sum of the rows, or that added to what is there.
  virtual void sum_rows(const float* from,
                        std::int64_t rows,
                        std::span<float> into,
                        bool accumulates) = 0;
  virtual void activate(Activation kind, std::span<const float> input, std::span<float> output) = 0;
  virtual void activate_backward(Activation kind,
                                 std::span<const float> output,
                                 std::span<const float> output_gradient,
                                 std::span<float> input_gradient) = 0;
  // One loss a row. It arrives on the host when the op is done.
  virtual void losses(const LossRows& rows, std::span<double> on_host) = 0;
  virtual void loss_gradient(const LossRows& rows, float* gradient) = 0;
  virtual void update(const UpdateNumbers& rule, const UpdatedArrays& arrays) = 0;

  // From one device's memory to another's, or within; of a sum that is taken, 0 is left behind.
  virtual void copy(std::span<float> from, std::span<float> into, bool takes) = 0;
  virtual void add(std::span<float> from, std::span<float> into, bool takes) = 0;
  // A copy that writes only what is different: others may be reading the same numbers there.
  virtual void replace(std::span<const float> from, std::span<float> into) = 0;
  virtual void fill(std::span<float> array, float value) = 0;

  // What the work does is done as a whole, as far as others see that do so with arrays of the same
  // device: a server's streams add, update and hand out the same arrays in no order.
  virtual void exclusively(DeviceId device, const std::function<void()>& work) = 0;
};

}  // namespace twinrun::exec
