#pragma once

#include <nlohmann/json.hpp>

#include "core/trace/breakdown.h"

namespace twinrun::cli {

// The key `breakdown_s` of a result: the parts of a step in seconds, which add up to it.
nlohmann::ordered_json breakdown_json(const Breakdown& parts);

}  // namespace twinrun::cli
