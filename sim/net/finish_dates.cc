#include "sim/net/finish_dates.h"

#include <algorithm>
#include <utility>

namespace twinrun::sim {

FinishDates::FinishDates(std::size_t count) {
  do {
    count = (count + kWidth - 1) / kWidth;
    levels_.emplace_back(std::max<std::size_t>(1, count) * kWidth, kNever);
  } while (count > 1);
  levels_.emplace_back(1, kNever);
}

void FinishDates::set(std::size_t index, double date) {
  double before = std::exchange(levels_.front()[index], date);
  for (std::size_t level = 1; level < levels_.size(); ++level) {
    const double* const block = levels_[level - 1].data() + index / kWidth * kWidth;
    index /= kWidth;
    double least = date;
    if (date > levels_[level][index]) {
      if (before > levels_[level][index]) {
        return;  // neither was the least of its block
      }
      least = *std::min_element(block, block + kWidth);
    }
    date = least;
    before = std::exchange(levels_[level][index], least);
    if (before == least) {
      return;
    }
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
