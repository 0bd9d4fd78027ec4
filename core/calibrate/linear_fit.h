#pragma once

#include <cstddef>
#include <vector>

namespace twinrun {

// Rows of a linear model: Σ design[row][j] · value[j] ≈ observed[row].
struct LinearRows {
  std::size_t parameters = 0;
  std::vector<double> design;    // by row, then parameter
  std::vector<double> observed;  // by row
  double alike = 1e-6;           // columns that differ by no more of their length are one
};

struct LinearFit {
  std::vector<double> values;       // by parameter
  std::vector<bool> is_determined;  // by parameter
  std::vector<double> residuals;    // by row: observed − fitted
  double scale = 0;  // usual size of a residual: 1.4826 times the median of the sizes
};

// Least squares with Huber's weights: residuals beyond 1.345 times their usual size count the less
// the larger they are, so that a tenth of wild rows has next to no effect.
//
// A parameter is determined when its column is not a sum of the others': what the rows say about it
// could not be said with the others alone. Those that are not take the smallest values that fit as
// well (two that only occur together share what there is).
LinearFit fit_robustly(const LinearRows& rows);

}  // namespace twinrun
