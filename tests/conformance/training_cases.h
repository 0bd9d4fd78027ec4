#pragma once

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "core/strategy/job.h"

namespace twinrun {

// A way to distribute one training; all of them end with the same weights.
struct TrainingCase {
  std::string name;
  std::string topology;
  Job job;
  bool shares_host = false;  // several ranks keep tensors in the memory of one CPU
};

void PrintTo(const TrainingCase& one, std::ostream* out);

// Widths that divide by 2 and 4 and leave a rest in most chunks; three blocks to cut between.
inline const std::string kTrainedModel = "mlp-12-16-8-16-8-4";

Job batch_job(const std::string& strategy);
std::string gpus(std::int64_t count);
std::string hosts(std::int64_t count);
std::string cpus(std::int64_t count);

using JobChange = std::function<void(Job&)>;
JobChange stages(std::int64_t count, std::int64_t micro_batch);

// Every strategy, on 1 to 8 devices.
std::vector<TrainingCase> all_training_cases();

}  // namespace twinrun
