#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace twinrun {

// "4458676522690.655" microseconds as whole nanoseconds, without the rounding of doubles; the value
// is what the text reads as. Nothing beyond 36 years.
std::optional<std::int64_t> kineto_nanoseconds(std::string_view us, double value);

// "[0, 1]"; empty when it is cut ("[0, 1, ...]") or no list.
std::vector<std::int64_t> kineto_ranks(std::string_view text);

}  // namespace twinrun
