#include "exec/stream_words.h"

#include <algorithm>

#include <fmt/format.h>

namespace twinrun::exec {
namespace {

constexpr std::size_t kMostTold = 6;

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < std::min(names.size(), kMostTold); ++i) {
    out += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > kMostTold) {
    out += fmt::format(" and {} more", names.size() - kMostTold);
  }
  return out.empty() ? "nothing" : out;
}

}  // namespace

std::string words_of_streams(const std::vector<std::string>& running,
                             const std::vector<std::string>& waiting) {
  return fmt::format("running: {}; waiting: {}", listed(running), listed(waiting));
}

}  // namespace twinrun::exec
