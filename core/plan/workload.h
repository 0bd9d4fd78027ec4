#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace twinrun {

// Layers that have a real kernel.
enum class WorkKind : std::uint8_t { kLinear, kRelu, kTanh, kSoftmaxCrossEntropy, kMeanSquares };
inline constexpr std::array<std::string_view, 5> kWorkKindWords = {
    "linear", "relu", "tanh", "softmax_cross_entropy", "mean_squares"};

// How tensor-parallel ranks divide a layer (arXiv:1909.08053).
enum class LayerDivision : std::uint8_t {
  kWhole,    // every rank does all of it
  kColumns,  // a linear layer by its outputs
  kRows,     // … by its inputs: outputs are summed over the ranks; rank 0 adds the bias
  kWithin,   // works on what is divided already
};
inline constexpr std::array<std::string_view, 4> kLayerDivisionWords = {"whole", "columns", "rows",
                                                                        "within"};

struct WorkLayer {
  std::string name;
  WorkKind kind = WorkKind::kLinear;
  LayerDivision division = LayerDivision::kWhole;
  std::int64_t inputs = 0;   // elements of a sample, over all tensor-parallel ranks
  std::int64_t outputs = 0;  // …
  bool has_bias = false;
  bool operator==(const WorkLayer&) const = default;
};

// The training that the payloads of a plan are about. Elements of the model are counted layer by
// layer, a weight (a row for each output) before its bias, and of a divided layer only the share of
// one tensor-parallel rank: all of them count alike.
struct Workload {
  std::vector<WorkLayer> layers;
  std::int64_t tensor_ranks = 1;
  std::int64_t global_batch = 1;        // samples of a step, over all replicas
  std::int64_t samples_per_update = 1;  // … of an update: all, unless micro-batches have their own
  std::int64_t steps = 0;
  std::int64_t steps_in_flight = 1;    // whose activations are there at once
  std::int64_t batches_on_device = 2;  // of samples: one that computes, others that come
  std::string optimizer;               // sgd, momentum, adam, adamw
  double learning_rate = 0;
  bool operator==(const Workload&) const = default;

  [[nodiscard]] bool is_trained() const { return !layers.empty(); }
};

// What one tensor-parallel rank has of a layer.
struct LayerShare {
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  std::int64_t first_element = 0;  // of its weight
  std::int64_t weight = 0;         // elements
  std::int64_t bias = 0;
};
std::vector<LayerShare> layer_shares(const Workload& workload);
// Elements of the model on one tensor-parallel rank.
std::int64_t element_count(const Workload& workload);

}  // namespace twinrun
