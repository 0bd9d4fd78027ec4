#include "cli/collective_sizes.h"

#include <algorithm>
#include <string>

namespace twinrun::cli {

std::optional<Bytes> parse_size(std::string_view text) {
  constexpr std::string_view kShort = "KMGTkmgt";
  if (!text.empty() && kShort.find(text.back()) != std::string_view::npos) {
    return parse_bytes(std::string(text) + "iB");
  }
  const bool is_plain = !text.empty() && text.back() >= '0' && text.back() <= '9';
  return parse_bytes(is_plain ? std::string(text) + "B" : std::string(text));
}

std::vector<Bytes> size_series(Bytes begin, Bytes end, double factor) {
  constexpr double kLargest = 9.2e18;
  std::vector<Bytes> sizes = {begin};
  while (factor > 1 && sizes.back() < end) {
    const double scaled = static_cast<double>(sizes.back().count) * factor;
    const double next = std::max(scaled, static_cast<double>(sizes.back().count + 1));
    if (next > kLargest || next > static_cast<double>(end.count)) {
      break;
    }
    sizes.push_back({static_cast<std::int64_t>(next)});
  }
  return sizes;
}

}  // namespace twinrun::cli
