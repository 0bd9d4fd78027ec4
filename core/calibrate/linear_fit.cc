#include "core/calibrate/linear_fit.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

#include "core/base/check.h"
#include "core/calibrate/robust.h"

namespace twinrun {
namespace {

constexpr double kHuber = 1.345;       // on normal errors 95 % as good as least squares
constexpr double kUsualSize = 1.4826;  // standard deviation over the median of the sizes
constexpr double kSmallestTie = 1e-9;  // of the diagonal: what decides where the rows do not
constexpr int kMostRounds = 50;
constexpr double kSettled = 1e-9;

using Column = std::vector<double>;

double dot(const Column& a, const Column& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

double length(const Column& a) { return std::sqrt(dot(a, a)); }

Column column_of(const LinearRows& rows, std::size_t parameter) {
  Column out(rows.observed.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = rows.design[i * rows.parameters + parameter];
  }
  return out;
}

// Takes away what the directions, of length 1 and at right angles, have of it; twice, for rounding.
void make_orthogonal(Column& column, const std::vector<Column>& directions) {
  for (int round = 0; round < 2; ++round) {
    for (const Column& direction : directions) {
      const double share = dot(direction, column);
      for (std::size_t i = 0; i < column.size(); ++i) {
        column[i] -= share * direction[i];
      }
    }
  }
}

bool is_determined(const std::vector<Column>& columns, std::size_t parameter, double alike) {
  std::vector<Column> directions;
  const auto left_of = [&](std::size_t j) {
    Column left = columns[j];
    make_orthogonal(left, directions);
    return left;
  };
  for (std::size_t j = 0; j < columns.size(); ++j) {
    Column left = j == parameter ? Column() : left_of(j);
    if (const double size = length(left); size > alike * length(columns[j])) {
      std::for_each(left.begin(), left.end(), [&](double& value) { value /= size; });
      directions.push_back(std::move(left));
    }
  }
  return length(left_of(parameter)) > alike * length(columns[parameter]);
}

// Cholesky's L of a symmetric matrix by rows, in place; then L Lᵀ x = b.
Column solve_symmetric(std::vector<double> matrix, Column b) {
  const std::size_t n = b.size();
  const auto at = [&](std::size_t i, std::size_t j) -> double& { return matrix[i * n + j]; };
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = j; i < n; ++i) {
      double sum = at(i, j);
      for (std::size_t k = 0; k < j; ++k) {
        sum -= at(i, k) * at(j, k);
      }
      at(i, j) = i == j ? std::sqrt(std::max(sum, 1e-300)) : sum / at(j, j);
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      b[i] -= at(i, k) * b[k];
    }
    b[i] /= at(i, i);
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) {
      b[i] -= at(k, i) * b[k];
    }
    b[i] /= at(i, i);
  }
  return b;
}

// Σ weight · column · column, with a little more on the diagonal, so that of all values that fit
// as well the smallest are taken.
Column weighted_solution(const LinearRows& rows, const Column& weights) {
  const std::size_t n = rows.parameters;
  std::vector<double> matrix(n * n, 0);
  Column right(n, 0);
  for (std::size_t i = 0; i < rows.observed.size(); ++i) {
    const double* const row = rows.design.data() + i * n;
    for (std::size_t a = 0; a < n; ++a) {
      right[a] += weights[i] * row[a] * rows.observed[i];
      for (std::size_t b = 0; b < n; ++b) {
        matrix[a * n + b] += weights[i] * row[a] * row[b];
      }
    }
  }
  // Each column by its own size, so that units do not matter.
  const double tie = std::max(kSmallestTie, rows.alike * rows.alike);
  for (std::size_t a = 0; a < n; ++a) {
    double& diagonal = matrix[a * n + a];
    diagonal = diagonal > 0 ? diagonal * (1 + tie) : 1;
  }
  return solve_symmetric(std::move(matrix), std::move(right));
}

Column residuals_of(const LinearRows& rows, const Column& values) {
  Column out = rows.observed;
  for (std::size_t i = 0; i < out.size(); ++i) {
    for (std::size_t j = 0; j < rows.parameters; ++j) {
      out[i] -= rows.design[i * rows.parameters + j] * values[j];
    }
  }
  return out;
}

double usual_size(const Column& residuals) {
  Column sizes;
  std::transform(residuals.begin(), residuals.end(), std::back_inserter(sizes),
                 [](double residual) { return std::abs(residual); });
  return kUsualSize * median(std::move(sizes));
}

double change_between(const Column& a, const Column& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, std::abs(a[i] - b[i]) / std::max(1.0, std::abs(b[i])));
  }
  return most;
}

}  // namespace

LinearFit fit_robustly(const LinearRows& rows) {
  TWINRUN_CHECK(rows.design.size() == rows.observed.size() * rows.parameters);
  LinearFit fit;
  Column weights(rows.observed.size(), 1);
  fit.values.assign(rows.parameters, 0);
  for (int round = 0; round < kMostRounds; ++round) {
    const Column before = std::exchange(fit.values, weighted_solution(rows, weights));
    fit.residuals = residuals_of(rows, fit.values);
    fit.scale = usual_size(fit.residuals);
    if (fit.scale == 0 || (round > 0 && change_between(before, fit.values) < kSettled)) {
      break;
    }
    for (std::size_t i = 0; i < weights.size(); ++i) {
      weights[i] = std::min(1.0, kHuber * fit.scale / std::max(std::abs(fit.residuals[i]), 1e-300));
    }
  }
  std::vector<Column> columns;
  for (std::size_t j = 0; j < rows.parameters; ++j) {
    columns.push_back(column_of(rows, j));
  }
  for (std::size_t j = 0; j < rows.parameters; ++j) {
    fit.is_determined.push_back(is_determined(columns, j, rows.alike));
  }
  return fit;
}

}  // namespace twinrun
