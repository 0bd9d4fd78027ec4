#include "exec/check_dataset.h"

#include <cmath>

#include <fmt/format.h>

namespace twinrun::exec {

std::string why_not_learned_from(const Dataset& dataset, const Workload& workload) {
  const std::int64_t inputs = workload.layers.front().inputs;
  const std::int64_t outputs = workload.layers.back().inputs;
  if (dataset.width != inputs) {
    return fmt::format("its samples have {} numbers, the model {} inputs", dataset.width, inputs);
  }
  if (workload.layers.back().kind == WorkKind::kMeanSquares) {
    return dataset.answer_width == outputs
               ? ""
               : fmt::format("its answers have {} numbers, the model {} outputs",
                             dataset.answer_width, outputs);
  }
  if (dataset.answer_width != 1) {
    return fmt::format("its answers have {} numbers, and should be classes", dataset.answer_width);
  }
  for (std::size_t i = 0; i < dataset.answers.size(); ++i) {
    const float answer = dataset.answers[i];
    const bool is_class =
        answer >= 0 && answer < static_cast<float>(outputs) && answer == std::floor(answer);
    if (!is_class) {
      return fmt::format("sample {} is of class {}, and the model's are 0 to {}", i + 1, answer,
                         outputs - 1);
    }
  }
  return "";
}

}  // namespace twinrun::exec
