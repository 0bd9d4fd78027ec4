#pragma once

#include <cstdint>

#include "exec/training/element_math.h"

// What a thread of a GPU does with one element or row: plain structs that a kernel is given and
// calls. They are compiled for a CPU as well, where tests run them, so nothing is written twice.
// In C++17, for nvcc.

namespace twinrun::exec::gpu {

// Threads that share a row: a warp of a GPU, or one thread alone.
struct OneThread {
  TWINRUN_EVERYWHERE static int number() { return 0; }
  TWINRUN_EVERYWHERE static int count() { return 1; }
  TWINRUN_EVERYWHERE static double sum(double value) { return value; }
  TWINRUN_EVERYWHERE static double most(double value) { return value; }
};

struct Fill {
  float* array;
  float value;
  TWINRUN_EVERYWHERE void operator()(std::int64_t i) const { array[i] = value; }
};

struct SpreadBias {
  const float* bias;
  float* output;
  std::int64_t width;
  TWINRUN_EVERYWHERE void operator()(std::int64_t i) const { output[i] = bias[i % width]; }
};

// Of one column, in the order of the rows.
struct SumRows {
  const float* from;
  float* into;
  std::int64_t rows;
  std::int64_t width;
  bool accumulates;
  TWINRUN_EVERYWHERE void operator()(std::int64_t column) const {
    float sum = accumulates ? into[column] : 0.0F;
    for (std::int64_t row = 0; row < rows; ++row) {
      sum += from[row * width + column];
    }
    into[column] = sum;
  }
};

struct Relu {
  const float* input;
  float* output;
  TWINRUN_EVERYWHERE void operator()(std::int64_t i) const { output[i] = relu_of(input[i]); }
};
struct Tanh {
  const float* input;
  float* output;
  TWINRUN_EVERYWHERE void operator()(std::int64_t i) const { output[i] = tanh_of(input[i]); }
};
struct ReluBackward {
  const float* output;
  const float* output_gradient;
  float* input_gradient;
  TWINRUN_EVERYWHERE void operator()(std::int64_t i) const {
    input_gradient[i] = relu_slope_times(output[i], output_gradient[i]);
  }
};
struct TanhBackward {
  const float* output;
  const float* output_gradient;
  float* input_gradient;
  TWINRUN_EVERYWHERE void operator()(std::int64_t i) const {
    input_gradient[i] = tanh_slope_times(output[i], output_gradient[i]);
  }
};

// ---- the last layer, a row at a time

struct LossOfRow {
  LossKind kind;
  std::int64_t width;
  const float* output;
  const float* targets;
  const std::int64_t* labels;
  float scale;
  double* losses;   // of forward
  float* gradient;  // of backward

  template <class Team>
  TWINRUN_EVERYWHERE double log_sum_exp(const float* logits) const {
    double most = logits[0];
    for (std::int64_t i = Team::number(); i < width; i += Team::count()) {
      most = logits[i] > most ? static_cast<double>(logits[i]) : most;
    }
    most = Team::most(most);
    double sum = 0;
    for (std::int64_t i = Team::number(); i < width; i += Team::count()) {
      sum += exp_term(logits[i], most);
    }
    return most + std::log(Team::sum(sum));
  }

  template <class Team>
  TWINRUN_EVERYWHERE void forward(std::int64_t row) const {
    const float* const at = output + row * width;
    const float* const target = targets + row * width;
    double loss = 0;
    if (kind == LossKind::kSoftmaxCrossEntropy) {
      loss = log_sum_exp<Team>(at) - static_cast<double>(at[labels[row]]);
    } else {
      for (std::int64_t i = Team::number(); i < width; i += Team::count()) {
        loss += kind == LossKind::kMeanSquares ? square_of_difference(at[i], target[i])
                                               : distance_of(at[i], target[i]);
      }
      loss = Team::sum(loss);
      loss = kind == LossKind::kMeanSquares ? loss / static_cast<double>(width) : loss;
    }
    if (Team::number() == 0) {
      losses[row] = loss;
    }
  }

  template <class Team>
  TWINRUN_EVERYWHERE void backward(std::int64_t row) const {
    const float* const at = output + row * width;
    const float* const target = targets + row * width;
    float* const into = gradient + row * width;
    const double log_sum = kind == LossKind::kSoftmaxCrossEntropy ? log_sum_exp<Team>(at) : 0.0;
    for (std::int64_t i = Team::number(); i < width; i += Team::count()) {
      switch (kind) {
        case LossKind::kSoftmaxCrossEntropy:
          into[i] = softmax_gradient(at[i], log_sum, i == labels[row], scale);
          break;
        case LossKind::kMeanSquares:
          into[i] = mean_squares_gradient_of(at[i], target[i], scale, width);
          break;
        case LossKind::kDistance:
          into[i] = distance_gradient_of(at[i], target[i]);
          break;
      }
    }
  }
};

// ---- elements of the model. Volatile: another multiprocessor may have written them under the same
// lock, and what a cache has of them may be older.

struct UpdateWeights {
  UpdateNumbers rule;
  volatile float* weights = nullptr;
  volatile float* gradients = nullptr;
  volatile float* first = nullptr;   // when the rule has none
  volatile float* second = nullptr;  // …
  bool takes = false;
  TWINRUN_EVERYWHERE void operator()(std::int64_t i) const {
    float first_moment = first == nullptr ? 0.0F : first[i];
    float second_moment = second == nullptr ? 0.0F : second[i];
    weights[i] = updated_weight(rule, weights[i], gradients[i], first_moment, second_moment);
    if (first != nullptr) {
      first[i] = first_moment;
    }
    if (second != nullptr) {
      second[i] = second_moment;
    }
    if (takes) {
      gradients[i] = 0.0F;
    }
  }
};

struct Add {
  volatile float* from;
  volatile float* into;
  bool takes;
  TWINRUN_EVERYWHERE void operator()(std::int64_t i) const {
    into[i] = from[i] + into[i];
    if (takes) {
      from[i] = 0.0F;
    }
  }
};

struct Take {
  volatile float* from;
  float* into;
  bool takes;
  TWINRUN_EVERYWHERE void operator()(std::int64_t i) const {
    into[i] = from[i];
    if (takes) {
      from[i] = 0.0F;
    }
  }
};

// Written only where it is different: others may be reading the same numbers there.
struct Replace {
  const float* from;
  float* into;
  TWINRUN_EVERYWHERE void operator()(std::int64_t i) const {
    const float value = from[i];
    if (!(into[i] == value)) {
      into[i] = value;
    }
  }
};

}  // namespace twinrun::exec::gpu
