#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "cli/answers.h"
#include "cli/job_search.h"

namespace twinrun::cli {

// How many steps training needs to reach its target, by global batch.
class StepsToTarget {
 public:
  // "critical:steps=5000,batch=4000": steps · (1 + batch / B) (McCandlish et al.,
  // arXiv:1812.06162), or a JSON file of rows with a batch and steps, samples or epochs; with
  // several benchmarks, those of the one that the model's name begins with. UsageError when it is
  // neither.
  static StepsToTarget parse(const std::string& argument,
                             const std::string& model,
                             std::int64_t dataset_samples);

  // Those worth trying: powers of two, and the batches of the table.
  [[nodiscard]] std::set<std::int64_t> batches() const;
  // Nothing outside of what was measured.
  [[nodiscard]] std::optional<double> steps(double global_batch) const;
  [[nodiscard]] const std::string& about() const { return about_; }

 private:
  struct Point {
    double batch = 0;
    double steps = 0;
  };
  void read_rows(const std::string& file, const std::string& model, std::int64_t dataset_samples);
  void read_law(const std::string& text);

  double law_steps_ = 0;
  double law_batch_ = 0;
  std::vector<Point> points_;  // by batch
  std::string about_;
};

// The batch and number of devices that reach the target soonest, and with the fewest device-hours
// (cheapest, when the topology has prices).
std::vector<Answer> time_to_accuracy(JobSearch& search, const StepsToTarget& law);

}  // namespace twinrun::cli
