#pragma once

#include <string>
#include <vector>

namespace substitute {

// cuBLAS handles that were created and not destroyed.
[[nodiscard]] std::vector<std::string> leaked_handles();
void end_all_handles();

}  // namespace substitute
