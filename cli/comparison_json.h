#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "core/trace/compare.h"

namespace twinrun::cli {

// The keys of "twinrun/comparison/1": all of the comparison. Differences are b − a.
nlohmann::ordered_json comparison_json(const Comparison& comparison);

}  // namespace twinrun::cli
