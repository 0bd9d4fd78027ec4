#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/trace/compare.h"

namespace twinrun::report {

// A comparison as the page takes it: a sentence about where the difference comes from, metrics,
// phases, and of ops, waits, collectives and links those that matter most, with how many are left
// out.
nlohmann::ordered_json comparison_data(const Comparison& comparison);

}  // namespace twinrun::report
