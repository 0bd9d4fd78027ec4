#pragma once

#include <string>
#include <vector>

#include "cli/comparison_text.h"
#include "core/trace/compare.h"

namespace twinrun::cli {

// One HTML file that needs nothing else: the sentences, then every table.
std::string comparison_page(const Comparison& comparison,
                            const CompareNames& names,
                            const std::vector<std::string>& sentences);

}  // namespace twinrun::cli
