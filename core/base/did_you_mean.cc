#include "core/base/did_you_mean.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace twinrun {
namespace {

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

// Optimal string alignment distance, case-insensitive, three rows.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    above[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1;
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + change});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
          lower(a[i - 2]) == lower(b[j - 1])) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

}  // namespace

std::string nearest_name(std::string_view typed, std::span<const std::string> known) {
  constexpr std::size_t kLongestCompared = 64;  // nobody mistypes a longer word by accident
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(typed.size() / 3, 1) + 1;
  if (typed.size() > kLongestCompared) {
    return best;
  }
  for (const std::string& name : known) {
    const std::size_t distance = edit_distance(typed, name);
    if (distance < best_distance) {
      best = name;
      best_distance = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view typed, std::span<const std::string> known) {
  constexpr std::size_t kListedAtMost = 24;
  const std::string near = nearest_name(typed, known);
  const auto listed = known.first(std::min(known.size(), kListedAtMost));
  const std::string list = fmt::format("known: {}{}", fmt::join(listed, ", "),
                                       listed.size() < known.size() ? ", …" : "");
  return near.empty() ? list : fmt::format("did you mean \"{}\"? ({})", near, list);
}

}  // namespace twinrun
