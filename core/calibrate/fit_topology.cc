#include "core/calibrate/fit_topology.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/check.h"
#include "core/calibrate/linear_fit.h"
#include "core/calibrate/robust.h"

namespace twinrun {
namespace {

constexpr std::size_t kHeldOut = 5;
constexpr int kMostFitSteps = 40;
constexpr int kMostHalvings = 6;
// Of a logarithm, for slopes. Downwards: of links in a row that are equally narrow, each is felt
// when it gets narrower and none when it gets wider.
constexpr double kNudge = -0.05;
constexpr double kSettledLog = 1e-3;  // a step of a thousandth changes nothing that can be seen
constexpr double kLargestStep = 1.5;  // a factor of 4.5: beyond, slopes say little
constexpr double kNoEffect = 1e-3;    // slope of a row that does not depend on a number
constexpr double kAlike = 0.02;       // columns that differ by less are one: slopes are no closer

struct SplitRows {
  std::vector<std::size_t> fitted;
  std::vector<std::size_t> held_out;
};

SplitRows split_rows(std::span<const double> measured_s, const std::vector<double>& predicted_s) {
  SplitRows rows;
  for (std::size_t i = 0; i < measured_s.size(); ++i) {
    if (measured_s[i] > 0 && predicted_s[i] > 0) {
      (is_held_out(i) ? rows.held_out : rows.fitted).push_back(i);
    }
  }
  return rows;
}

FitError error_of(std::span<const double> measured_s,
                  const std::vector<double>& predicted_s,
                  const std::vector<std::size_t>& rows) {
  std::vector<double> sizes;
  FitError error;
  for (const std::size_t i : rows) {
    sizes.push_back(100 * std::abs(predicted_s[i] / measured_s[i] - 1));
    error.worst_pct = std::max(error.worst_pct, sizes.back());
  }
  error.median_pct = median(std::move(sizes));
  return error;
}

class Fitting {
 public:
  Fitting(const TopologySpec& topology,
          std::span<const double> measured_s,
          const PredictRows& predict)
      : given_(topology),
        measured_s_(measured_s),
        predict_(predict),
        parameters_(parameters_of(topology)),
        logs_(parameters_.size(), 0),
        predicted_s_(predict(topology)) {
    TWINRUN_CHECK(predicted_s_.size() == measured_s.size());
    rows_ = split_rows(measured_s, predicted_s_);
    before_s_ = predicted_s_;
  }

  void run() {
    find_slopes(true);
    for (int step = 0; step < kMostFitSteps && !used_.empty(); ++step) {
      if (!take_step()) {
        break;
      }
      find_slopes(false);
    }
  }

  TopologyFit result(const std::string& source) {
    TopologyFit fit;
    fit.topology = topology_at(logs_, source);
    fit.before_s = before_s_;
    fit.after_s = predicted_s_;
    fit.held_out_rows = rows_.held_out.size();
    fit.held_out_before = error_of(measured_s_, before_s_, rows_.held_out);
    fit.held_out_after = error_of(measured_s_, predicted_s_, rows_.held_out);
    fit.fitted_after = error_of(measured_s_, predicted_s_, rows_.fitted);
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const auto used = std::find(used_.begin(), used_.end(), i);
      const bool is_used = used != used_.end();
      fit.parameters.push_back(
          {parameters_[i], value_of(given_, parameters_[i]), value_of(fit.topology, parameters_[i]),
           is_used, is_used && is_determined_[static_cast<std::size_t>(used - used_.begin())]});
    }
    return fit;
  }

 private:
  [[nodiscard]] TopologySpec topology_at(const std::vector<double>& logs,
                                         const std::string& source = "") const {
    TopologySpec spec = given_;
    for (std::size_t i = 0; i < logs.size(); ++i) {
      if (logs[i] != 0) {
        scale(spec, parameters_[i], std::exp(logs[i]), source);
      }
    }
    return spec;
  }

  // How much the logarithm of each fitted row grows with that of each number. The first time all
  // numbers are tried; those without effect are left alone from then on.
  void find_slopes(bool is_first) {
    std::vector<std::size_t> tried = used_;
    if (is_first) {
      for (std::size_t i = 0; i < parameters_.size(); ++i) {
        tried.push_back(i);
      }
    }
    used_.clear();
    slopes_.clear();
    for (const std::size_t parameter : tried) {
      std::vector<double> logs = logs_;
      logs[parameter] += kNudge;
      const std::vector<double> nudged = predict_(topology_at(logs));
      std::vector<double> column;
      bool has_effect = !is_first;
      for (const std::size_t row : rows_.fitted) {
        column.push_back(nudged[row] > 0 ? std::log(nudged[row] / predicted_s_[row]) / kNudge : 0);
        has_effect = has_effect || std::abs(column.back()) > kNoEffect;
      }
      if (has_effect) {
        used_.push_back(parameter);
        slopes_.push_back(std::move(column));
      }
    }
  }

  [[nodiscard]] double log_error(std::size_t row, const std::vector<double>& predicted_s) const {
    return std::log(measured_s_[row] / predicted_s[row]);
  }

  [[nodiscard]] double usual_error(const std::vector<double>& predicted_s) const {
    double sum = 0;  // of sizes: wild rows count no more than others of their size
    for (const std::size_t row : rows_.fitted) {
      sum += predicted_s[row] > 0 ? std::abs(log_error(row, predicted_s)) : 10;
    }
    return sum;
  }

  // False when it is settled.
  bool take_step() {
    LinearRows rows{used_.size(), {}, {}, kAlike};
    for (std::size_t i = 0; i < rows_.fitted.size(); ++i) {
      for (const std::vector<double>& column : slopes_) {
        rows.design.push_back(column[i]);
      }
      rows.observed.push_back(log_error(rows_.fitted[i], predicted_s_));
    }
    const LinearFit fit = fit_robustly(rows);
    is_determined_ = fit.is_determined;
    double share = 1;
    for (int halving = 0; halving < kMostHalvings; ++halving, share /= 2) {
      if (try_step(fit.values, share)) {
        return true;
      }
    }
    return false;
  }

  bool try_step(const std::vector<double>& values, double share) {
    std::vector<double> logs = logs_;
    double largest = 0;
    for (std::size_t i = 0; i < used_.size(); ++i) {
      const double step = std::clamp(values[i] * share, -kLargestStep, kLargestStep);
      logs[used_[i]] += step;
      largest = std::max(largest, std::abs(step));
    }
    if (largest < kSettledLog) {
      return false;
    }
    std::vector<double> predicted = predict_(topology_at(logs));
    if (usual_error(predicted) >= usual_error(predicted_s_)) {
      return false;
    }
    logs_ = std::move(logs);
    predicted_s_ = std::move(predicted);
    return true;
  }

  const TopologySpec& given_;
  std::span<const double> measured_s_;
  const PredictRows& predict_;
  std::vector<TopologyParameter> parameters_;
  std::vector<double> logs_;  // of the factors, by parameter
  std::vector<double> predicted_s_;
  std::vector<double> before_s_;
  SplitRows rows_;
  std::vector<std::size_t> used_;            // parameters that some row depends on
  std::vector<std::vector<double>> slopes_;  // by used parameter, then fitted row
  std::vector<bool> is_determined_;          // by used parameter
};

}  // namespace

bool is_held_out(std::size_t row) { return row % kHeldOut == kHeldOut - 1; }

TopologyFit fit_topology(const TopologySpec& topology,
                         std::span<const double> measured_s,
                         const PredictRows& predict,
                         const std::string& source) {
  Fitting fitting(topology, measured_s, predict);
  fitting.run();
  return fitting.result(source);
}

}  // namespace twinrun
