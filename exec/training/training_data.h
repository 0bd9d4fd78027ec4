#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/plan/dataset.h"
#include "core/plan/payload.h"
#include "core/plan/workload.h"
#include "exec/execute.h"

namespace twinrun::exec {

enum class DataKind : std::uint8_t {
  kClusters,  // samples around one centre for each class: something to learn
  kIntegers,  // -2 … 2, so that all sums are exact and runs agree bit for bit
  kFile,      // samples of a dataset
};

// Samples and initial weights from a seed: what they are depends on their number alone, never on
// who asks for them or in which order.
class TrainingData {
 public:
  TrainingData(const Workload& workload, DataKind kind, std::uint64_t seed);
  // Rows of a dataset in an order that the seed tells, over and over.
  TrainingData(const Workload& workload, const Dataset& dataset, std::uint64_t seed);

  [[nodiscard]] bool is_integer() const { return kind_ == DataKind::kIntegers; }
  // All rows that there are, one after the other; later steps see the same ones again.
  [[nodiscard]] std::span<float> inputs() { return inputs_; }
  [[nodiscard]] std::span<const float> targets() const { return targets_; }
  [[nodiscard]] std::span<const std::int64_t> labels() const { return labels_; }
  [[nodiscard]] std::size_t row_of(std::int64_t step, std::int64_t sample) const;
  [[nodiscard]] std::size_t input_width() const { return static_cast<std::size_t>(width_); }
  [[nodiscard]] std::size_t target_width() const { return static_cast<std::size_t>(outputs_); }

  // Of one sample, or of neighbours.
  [[nodiscard]] std::span<float> inputs(std::int64_t step, const CountRange& samples);
  [[nodiscard]] std::int64_t label(std::int64_t step, std::int64_t sample) const;
  [[nodiscard]] std::span<const float> target(std::int64_t step, std::int64_t sample) const;

  // The elements that a tensor-parallel rank has at the start.
  [[nodiscard]] std::vector<float> initial_weights(std::int64_t tensor_rank) const;

 private:
  void make_room();
  void make_row(std::size_t row);
  void take_row(std::size_t row, const Dataset& dataset, std::size_t from);
  [[nodiscard]] float weight(std::size_t layer, std::int64_t element) const;
  [[nodiscard]] double uniform(std::uint64_t stream, std::uint64_t number) const;

  const Workload& workload_;
  DataKind kind_;
  std::uint64_t seed_;
  std::int64_t width_;    // of a sample
  std::int64_t outputs_;  // of the model: classes, or elements of a target
  std::int64_t batches_;  // that are there; later steps see them again
  std::vector<float> inputs_;
  std::vector<float> targets_;
  std::vector<std::int64_t> labels_;
};

// What the options ask for: samples of a file, clusters or integers.
TrainingData training_data(const Workload& workload, const ExecuteOptions& options);

}  // namespace twinrun::exec
