#pragma once

#include <cstdint>
#include <vector>

namespace twinrun {

// Samples to learn from: rows of numbers, and of each what is to be known about it.
struct Dataset {
  std::int64_t rows = 0;
  std::int64_t width = 0;         // numbers of a sample
  std::int64_t answer_width = 1;  // … of its answer: 1 a class, or what the model should say
  std::vector<float> inputs;      // row by row
  std::vector<float> answers;
};

}  // namespace twinrun
