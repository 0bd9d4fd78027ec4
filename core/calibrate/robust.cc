#include "core/calibrate/robust.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"

namespace twinrun {
namespace {

// The value below which a share of the sorted values lies, between neighbours linearly.
double quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) {
    return 0;
  }
  std::sort(values.begin(), values.end());
  return quantile(values, 0.5);
}

double middle_half_pct(std::vector<double> values) {
  if (values.size() < 2) {
    return 0;
  }
  std::sort(values.begin(), values.end());
  const double middle = quantile(values, 0.5);
  return middle == 0 ? 0
                     : 100 * (quantile(values, 0.75) - quantile(values, 0.25)) / std::abs(middle);
}

Line theil_sen(std::span<const double> x, std::span<const double> y) {
  TWINRUN_CHECK(x.size() == y.size());
  std::vector<double> slopes;
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t j = i + 1; j < x.size(); ++j) {
      if (x[i] != x[j]) {
        slopes.push_back((y[j] - y[i]) / (x[j] - x[i]));
      }
    }
  }
  Line line;
  line.slope = median(std::move(slopes));
  std::vector<double> left;
  for (std::size_t i = 0; i < x.size(); ++i) {
    left.push_back(y[i] - line.slope * x[i]);
  }
  line.intercept = median(std::move(left));
  return line;
}

}  // namespace twinrun
