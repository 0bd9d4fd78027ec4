#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace twinrun {

// Names are segments joined by "/", each a word and a number: node3/gpu5. A pattern may leave
// numbers open: gpu*, gpu[0-3], gpu[0,2,5-7], node*/nic0.
class NamePattern {
 public:
  static std::optional<NamePattern> parse(std::string_view text);  // nothing when malformed

  // True when the pattern names exactly one vertex.
  [[nodiscard]] bool is_exact() const;
  [[nodiscard]] std::size_t segments() const { return segments_.size(); }
  [[nodiscard]] bool matches(std::size_t segment, std::string_view word, std::int64_t number) const;
  // The pattern without its first segment.
  [[nodiscard]] NamePattern tail() const;
  // Whether a whole name matches.
  [[nodiscard]] bool matches(std::string_view name) const;

 private:
  using Range = std::pair<std::int64_t, std::int64_t>;  // first and last, both included
  struct Segment {
    std::string word;
    std::vector<Range> numbers;
  };
  static std::optional<Segment> parse_segment(std::string_view text);

  std::vector<Segment> segments_;
};

// "gpu12" is the word "gpu" and the number 12; nothing when there is no number at the end.
std::optional<std::pair<std::string_view, std::int64_t>> split_name(std::string_view name);

}  // namespace twinrun
