#pragma once

#include <optional>

#include "cli/run_input.h"

namespace twinrun::cli {

// Samples a second when one device, as good as the job's first, trains alone what each replica
// trains: same model, format and local batch. Nothing when that cannot be, as when the model does
// not fit.
std::optional<double> one_device_samples_per_s(const RunInput& input);

}  // namespace twinrun::cli
