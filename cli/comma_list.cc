#include "cli/comma_list.h"

#include <algorithm>
#include <charconv>

namespace twinrun::cli {

std::vector<std::string> comma_separated(std::string_view list) { return separated(list, ','); }

std::vector<std::string> separated(std::string_view list, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(separator, begin), list.size());
    parts.emplace_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, number);
  const bool is_number = error == std::errc() && last == end && !text.starts_with('-');
  return is_number ? std::optional(number) : std::nullopt;
}

}  // namespace twinrun::cli
