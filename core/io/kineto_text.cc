#include "core/io/kineto_text.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <string>

namespace twinrun {
namespace {

constexpr std::int64_t kLatestNs = std::int64_t{1} << 60;

}  // namespace

std::optional<std::int64_t> kineto_nanoseconds(std::string_view us, double value) {
  const std::size_t dot = us.find('.');
  const bool is_plain = us.find_first_of("eE") == std::string_view::npos;
  std::int64_t ns = 0;
  if (is_plain && dot != std::string_view::npos && us.size() - dot <= 4) {
    std::string digits(us.substr(0, dot));
    digits += us.substr(dot + 1);
    digits.append(4 - (us.size() - dot), '0');
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), ns);
    return error == std::errc() && std::abs(ns) < kLatestNs ? std::optional(ns) : std::nullopt;
  }
  if (!(std::abs(value) < static_cast<double>(kLatestNs) / 1e3)) {
    return std::nullopt;
  }
  return std::llround(value * 1e3);
}

std::vector<std::int64_t> kineto_ranks(std::string_view text) {
  std::vector<std::int64_t> ranks;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  while (at != end) {
    if (std::isdigit(static_cast<unsigned char>(*at)) != 0) {
      std::int64_t rank = 0;
      const auto [next, error] = std::from_chars(at, end, rank);
      if (error != std::errc()) {
        return {};
      }
      ranks.push_back(rank);
      at = next;
    } else if (*at == '.') {
      return {};
    } else {
      ++at;
    }
  }
  return ranks;
}

}  // namespace twinrun
