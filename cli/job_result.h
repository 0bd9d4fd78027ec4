#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/run_input.h"
#include "cli/run_result.h"

namespace twinrun::cli {

// Fills in the keys of a result that only a job can tell: samples a second, scaling against one
// device, FLOP/s, cost.
void add_job_keys(nlohmann::ordered_json& json,
                  const RunInput& input,
                  std::optional<double> one_device_samples_per_s);

// The same for people: the plan, memory, the step and where it went.
std::string job_text(const RunFacts& facts,
                     const RunInput& input,
                     const nlohmann::ordered_json& json);

// The collectives of the last step as the first device saw them: buckets, one a row, or sums by
// kind when there are many. No rows when there are none.
Table collective_table(const RunFacts& facts);

}  // namespace twinrun::cli
