#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace twinrun::report {

// The answer in a sentence or three: how long a step takes, what of it is not compute, whether it
// fits. Of a twinrun/result/1.
std::string headline_of_run(const nlohmann::ordered_json& result);
// Of two results: by how much the second differs from the first.
std::string headline_of_two(const nlohmann::ordered_json& a, const nlohmann::ordered_json& b);
// Of a twinrun/sweep/1: which point is best, and how many there are.
std::string headline_of_sweep(const nlohmann::ordered_json& sweep);

}  // namespace twinrun::report
