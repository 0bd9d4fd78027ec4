#pragma once

#include <cstddef>
#include <vector>

namespace twinrun::sim {

// The least of many dates that change one at a time: a tree of minima, 16 wide, so that a change
// costs a few cache lines and ends early where the minimum stays.
class FinishDates {
 public:
  static constexpr double kNever = 1e300;

  explicit FinishDates(std::size_t count);

  void set(std::size_t index, double date);
  [[nodiscard]] double least() const { return levels_.back().front(); }
  [[nodiscard]] std::size_t index_of_least() const;

 private:
  static constexpr std::size_t kWidth = 16;
  std::vector<std::vector<double>> levels_;  // the leaves first, padded to whole blocks
};

}  // namespace twinrun::sim
