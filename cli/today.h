#pragma once

#include <string>

namespace twinrun::cli {

// As measurements are dated: 2026-11-18, in Greenwich.
std::string today();

}  // namespace twinrun::cli
