#pragma once

#include <string>

#include "cli/compare_input.h"
#include "core/trace/compare.h"

namespace twinrun::cli {

// The page of `report` for two runs of which no more than plan and trace are known: what differs,
// and both timelines.
std::string comparison_page(const CompareInput& a,
                            const CompareInput& b,
                            const Comparison& comparison);

}  // namespace twinrun::cli
