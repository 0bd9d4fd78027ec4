#include "exec/training/training_data.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/splitmix.h"

namespace twinrun::exec {
namespace {

constexpr std::int64_t kMostBatches = 8;
constexpr std::int64_t kMostElements = std::int64_t{1} << 21;  // of samples that are made
constexpr double kNoise = 0.5;
constexpr std::int64_t kLargestInteger = 2;
constexpr std::int64_t kIntegerValues = 2 * kLargestInteger + 1;  // -2 … 2

enum Stream : std::uint64_t { kLabels, kNoiseOfInputs, kCentres, kTargets, kWeights, kOrder };

// As many as the run has steps, unless that were too much to make.
std::int64_t batches_made(const Workload& workload) {
  const std::int64_t most =
      kMostElements / (workload.global_batch * workload.layers.front().inputs);
  return std::clamp<std::int64_t>(workload.steps, 1, std::max(kMostBatches, most));
}

bool learns_classes(const Workload& workload) {
  return workload.layers.back().kind == WorkKind::kSoftmaxCrossEntropy;
}

// Where element (row, column) of a rank's share stands in the whole layer.
struct WholePlace {
  std::int64_t row = 0;
  std::int64_t column = 0;
};

WholePlace place_in_layer(const WorkLayer& layer,
                          const LayerShare& share,
                          std::int64_t tensor_rank,
                          std::int64_t element) {
  const std::int64_t first_row =
      layer.division == LayerDivision::kColumns ? tensor_rank * share.outputs : 0;
  const std::int64_t first_column =
      layer.division == LayerDivision::kRows ? tensor_rank * share.inputs : 0;
  return {first_row + element / share.inputs, first_column + element % share.inputs};
}

}  // namespace

TrainingData::TrainingData(const Workload& workload, DataKind kind, std::uint64_t seed)
    : workload_(workload),
      kind_(kind),
      seed_(seed),
      width_(workload.layers.front().inputs),
      outputs_(workload.layers.back().inputs),
      batches_(batches_made(workload)) {
  make_room();
  for (std::size_t row = 0; row < labels_.size(); ++row) {
    make_row(row);
  }
}

// Whole batches: the last rows of a file that do not fill one are left out, and one that is larger
// than the file has rows twice.
TrainingData::TrainingData(const Workload& workload, const Dataset& dataset, std::uint64_t seed)
    : workload_(workload),
      kind_(DataKind::kFile),
      seed_(seed),
      width_(workload.layers.front().inputs),
      outputs_(workload.layers.back().inputs),
      batches_(std::clamp<std::int64_t>(
          dataset.rows / workload.global_batch, 1, std::max<std::int64_t>(workload.steps, 1))) {
  make_room();
  std::vector<std::size_t> order(static_cast<std::size_t>(dataset.rows));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t left = order.size(); left > 1; --left) {  // Fisher and Yates
    const auto other = static_cast<std::size_t>(uniform(kOrder, left) * static_cast<double>(left));
    std::swap(order[left - 1], order[other]);
  }
  for (std::size_t row = 0; row < labels_.size(); ++row) {
    take_row(row, dataset, order[row % order.size()]);
  }
}

void TrainingData::make_room() {
  const auto rows = static_cast<std::size_t>(batches_ * workload_.global_batch);
  inputs_.resize(rows * static_cast<std::size_t>(width_));
  targets_.resize(rows * static_cast<std::size_t>(outputs_));
  labels_.resize(rows);
}

void TrainingData::take_row(std::size_t row, const Dataset& dataset, std::size_t from) {
  const auto width = static_cast<std::size_t>(width_);
  std::copy_n(dataset.inputs.data() + from * width, width, inputs_.data() + row * width);
  const auto answers = static_cast<std::size_t>(dataset.answer_width);
  const float* const answer = dataset.answers.data() + from * answers;
  if (learns_classes(workload_)) {
    labels_[row] = std::llround(*answer);
  } else {
    std::copy_n(answer, answers, targets_.data() + row * answers);
  }
}

double TrainingData::uniform(std::uint64_t stream, std::uint64_t number) const {
  const std::uint64_t bits = mixed(mixed(seed_ * 16 + stream) ^ number);
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

void TrainingData::make_row(std::size_t row) {
  const auto width = static_cast<std::uint64_t>(width_);
  const auto outputs = static_cast<std::uint64_t>(outputs_);
  const auto label =
      static_cast<std::int64_t>(uniform(kLabels, row) * static_cast<double>(outputs_));
  labels_[row] = label;
  const auto integer = [](double random) {
    return std::floor(random * kIntegerValues) - kLargestInteger;
  };
  for (std::uint64_t i = 0; i < width; ++i) {
    const double noise = uniform(kNoiseOfInputs, row * width + i);
    const double centre = uniform(kCentres, static_cast<std::uint64_t>(label) * width + i);
    inputs_[row * width + i] = static_cast<float>(
        kind_ == DataKind::kIntegers ? integer(noise) : 2 * centre - 1 + kNoise * (2 * noise - 1));
  }
  for (std::uint64_t i = 0; i < outputs; ++i) {
    const double random = uniform(kTargets, row * outputs + i);
    targets_[row * outputs + i] = static_cast<float>(
        kind_ == DataKind::kIntegers ? integer(random) : inputs_[row * width + i % width] / 2);
  }
}

std::size_t TrainingData::row_of(std::int64_t step, std::int64_t sample) const {
  return static_cast<std::size_t>(step % batches_ * workload_.global_batch + sample);
}

std::span<float> TrainingData::inputs(std::int64_t step, const CountRange& samples) {
  const auto width = static_cast<std::size_t>(width_);
  return std::span(inputs_).subspan(row_of(step, samples.begin) * width,
                                    static_cast<std::size_t>(samples.size()) * width);
}

std::int64_t TrainingData::label(std::int64_t step, std::int64_t sample) const {
  return labels_[row_of(step, sample)];
}

std::span<const float> TrainingData::target(std::int64_t step, std::int64_t sample) const {
  const auto width = static_cast<std::size_t>(outputs_);
  return std::span(targets_).subspan(row_of(step, sample) * width, width);
}

// Elements of a layer: its weight, then its bias, which starts at 0.
float TrainingData::weight(std::size_t layer, std::int64_t element) const {
  const std::uint64_t number = (std::uint64_t{layer} << 40) + static_cast<std::uint64_t>(element);
  const double random = uniform(kWeights, number);
  if (kind_ == DataKind::kIntegers) {
    return static_cast<float>(std::floor(random * 3) - 1);
  }
  const auto fan_in = static_cast<double>(workload_.layers[layer].inputs);
  return static_cast<float>((2 * random - 1) / std::sqrt(fan_in));
}

std::vector<float> TrainingData::initial_weights(std::int64_t tensor_rank) const {
  std::vector<float> out(static_cast<std::size_t>(element_count(workload_)));
  const std::vector<LayerShare> shares = layer_shares(workload_);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    for (std::int64_t element = 0; element < shares[i].weight; ++element) {
      const WholePlace place = place_in_layer(workload_.layers[i], shares[i], tensor_rank, element);
      out[static_cast<std::size_t>(shares[i].first_element + element)] =
          weight(i, place.row * workload_.layers[i].inputs + place.column);
    }
  }
  return out;
}

TrainingData training_data(const Workload& workload, const ExecuteOptions& options) {
  if (options.dataset != nullptr) {
    return {workload, *options.dataset, options.seed};
  }
  return {workload, options.uses_integers ? DataKind::kIntegers : DataKind::kClusters,
          options.seed};
}

}  // namespace twinrun::exec
