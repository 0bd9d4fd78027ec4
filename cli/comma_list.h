#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace twinrun::cli {

// "a,b,,c" as its four parts; "" is one empty part.
std::vector<std::string> comma_separated(std::string_view list);
std::vector<std::string> separated(std::string_view list, char separator);

// Digits and nothing else; nothing when it is no such number or leaves 63 bits.
std::optional<std::int64_t> whole_number(std::string_view text);

}  // namespace twinrun::cli
