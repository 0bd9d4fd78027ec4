#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/context.h"
#include "core/io/load_run_folder.h"
#include "report/page_data.h"

namespace twinrun::cli {

// Where the sliders of a served page stand.
struct WhatIf {
  std::int64_t batch = 0;   // samples a replica
  std::size_t devices = 0;  // the first so many, or more machines of the same kind
  double bandwidth = 1;     // every link of the network so many times as fast
  std::string strategy;     // by its name
};

// What a run's job can be changed into: the sliders of a served page, and a simulation of each
// setting. The job is changed, written down as its file would be and read again, so the result is
// that of `twinrun simulate` on that file.
class WhatIfRunner {
 public:
  // Of a run that was made from a job; it must outlive this. Throws ImpossibleJob when the job
  // cannot be simulated.
  explicit WhatIfRunner(const RunFolder& run);

  [[nodiscard]] const WhatIf& as_given() const { return given_; }
  // The "controls" of page_data.
  [[nodiscard]] nlohmann::ordered_json controls(const WhatIf& settings) const;
  // What the settings may be; CannotRun says what is wrong with others.
  void check(const WhatIf& settings) const;

  // The text of a job.json with these settings.
  [[nodiscard]] std::string job_text(const WhatIf& settings) const;
  // "twinrun/page/1" of that job's simulation. `is_wanted` is asked now and then; when it says no,
  // Unwanted is thrown.
  [[nodiscard]] nlohmann::ordered_json page(const WhatIf& settings,
                                            const std::function<bool()>& is_wanted) const;

  struct Unwanted {};

 private:
  const RunFolder& run_;
  WhatIf given_;
  std::int64_t micro_batches_ = 1;
  std::vector<std::int64_t> batches_;
  std::vector<std::size_t> device_counts_;
  std::vector<double> factors_;
  std::vector<std::string> strategies_;
  double network_gbps_ = 0;
  bool is_cluster_ = false;
};

}  // namespace twinrun::cli
