#pragma once

#include <charconv>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace twinrun {

// The words of a line, whatever space is between them.
inline std::vector<std::string> words_of_line(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) {
    words.push_back(word);
  }
  return words;
}

// A word that is a number and nothing else.
template <class Number>
std::optional<Number> number_in(std::string_view word) {
  Number number{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc() && end == word.data() + word.size() ? std::optional(number)
                                                                  : std::nullopt;
}

}  // namespace twinrun
