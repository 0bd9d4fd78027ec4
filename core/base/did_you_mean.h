#pragma once

#include <span>
#include <string>
#include <string_view>

namespace twinrun {

// The known name nearest to a mistyped one by edit distance (a swap of neighbours counts one), or
// "" when none is near enough to be meant: at most a third of the letters wrong.
std::string nearest_name(std::string_view typed, std::span<const std::string> known);

// "did you mean \"bandwidth\"? (known: bandwidth, count, …)": for the help line of an unknown name.
std::string did_you_mean(std::string_view typed, std::span<const std::string> known);

}  // namespace twinrun
