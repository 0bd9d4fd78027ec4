#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/trace/compare.h"

namespace twinrun::report {

// A comparison as the page takes it: sentences about where the difference comes from, metrics,
// phases, and of ops, waits and collectives those that matter most, with how many there are.
nlohmann::ordered_json comparison_data(const Comparison& comparison,
                                       const std::vector<std::string>& sentences);

}  // namespace twinrun::report
