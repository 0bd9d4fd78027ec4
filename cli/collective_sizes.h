#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "core/base/units.h"

namespace twinrun::cli {

// A size as nccl-tests takes it, where K, M and G are powers of 1024, or as we do elsewhere
// ("25MB", "1GiB", bytes). Nothing when it is neither.
std::optional<Bytes> parse_size(std::string_view text);

// begin, begin·factor, … up to end; begin alone when the factor is 1 or the two are equal.
std::vector<Bytes> size_series(Bytes begin, Bytes end, double factor);

}  // namespace twinrun::cli
