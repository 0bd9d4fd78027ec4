#include "sim/net/finish_dates.h"

#include <algorithm>

namespace twinrun::sim {

FinishDates::FinishDates(std::size_t count) {
  do {
    count = (count + kWidth - 1) / kWidth;
    levels_.emplace_back(std::max<std::size_t>(1, count) * kWidth, kNever);
  } while (count > 1);
  levels_.emplace_back(1, kNever);
}

void FinishDates::set(std::size_t index, double date) {
  levels_.front()[index] = date;
  for (std::size_t level = 1; level < levels_.size(); ++level) {
    const double* const block = levels_[level - 1].data() + index / kWidth * kWidth;
    double least = block[0];
    for (std::size_t i = 1; i < kWidth; ++i) {
      least = std::min(least, block[i]);
    }
    index /= kWidth;
    if (levels_[level][index] == least) {
      return;
    }
    levels_[level][index] = least;
  }
}

std::size_t FinishDates::index_of_least() const {
  std::size_t index = 0;
  for (std::size_t level = levels_.size() - 1; level-- > 0;) {
    const double* const block = levels_[level].data() + index * kWidth;
    index = index * kWidth +
            static_cast<std::size_t>(std::find(block, block + kWidth, least()) - block);
  }
  return index;
}

}  // namespace twinrun::sim
