#include "core/topology/name_pattern.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace twinrun {
namespace {

constexpr std::int64_t kEveryNumber = std::numeric_limits<std::int64_t>::max();

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool complete = error == std::errc() && end == text.data() + text.size() && value >= 0;
  return complete && !text.starts_with('-') ? std::optional(value) : std::nullopt;
}

}  // namespace

std::optional<std::pair<std::string_view, std::int64_t>> split_name(std::string_view name) {
  std::size_t digits = 0;
  while (digits < name.size() && name[name.size() - 1 - digits] >= '0' &&
         name[name.size() - 1 - digits] <= '9') {
    ++digits;
  }
  const auto number = whole_number(name.substr(name.size() - digits));
  if (digits == 0 || digits == name.size() || !number) {
    return std::nullopt;
  }
  return std::pair(name.substr(0, name.size() - digits), *number);
}

// The word before the open numbers; a word has no pattern of its own.
std::optional<NamePattern::Segment> NamePattern::parse_segment(std::string_view text) {
  const std::size_t open = std::min(text.find_first_of("*[],"), text.size());
  if (open == text.size()) {
    const auto split = split_name(text);
    return split
               ? std::optional(Segment{std::string(split->first), {{split->second, split->second}}})
               : std::nullopt;
  }
  const std::string_view rest = text.substr(open);
  Segment segment{std::string(text.substr(0, open)), {}};
  if (open > 0 && rest == "*") {
    segment.numbers.emplace_back(0, kEveryNumber);
    return segment;
  }
  if (open == 0 || !rest.starts_with('[') || !rest.ends_with(']')) {
    return std::nullopt;
  }
  std::string_view list = text.substr(open + 1, text.size() - open - 2);
  while (true) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view item = list.substr(0, comma);
    const std::size_t dash = item.find('-');
    const auto first = whole_number(item.substr(0, std::min(dash, item.size())));
    const auto last = dash == std::string_view::npos ? first : whole_number(item.substr(dash + 1));
    if (!first || !last || *first > *last) {
      return std::nullopt;
    }
    segment.numbers.emplace_back(*first, *last);
    if (comma == list.size()) {
      return segment;
    }
    list.remove_prefix(comma + 1);
  }
}

std::optional<NamePattern> NamePattern::parse(std::string_view text) {
  NamePattern pattern;
  while (true) {
    const std::size_t slash = std::min(text.find('/'), text.size());
    auto segment = parse_segment(text.substr(0, slash));
    if (!segment) {
      return std::nullopt;
    }
    pattern.segments_.push_back(std::move(*segment));
    if (slash == text.size()) {
      return pattern;
    }
    text.remove_prefix(slash + 1);
  }
}

bool NamePattern::is_exact() const {
  return std::all_of(segments_.begin(), segments_.end(), [](const Segment& segment) {
    return segment.numbers.size() == 1 && segment.numbers[0].first == segment.numbers[0].second;
  });
}

bool NamePattern::matches(std::size_t segment, std::string_view word, std::int64_t number) const {
  const Segment& wanted = segments_[segment];
  return wanted.word == word &&
         std::any_of(wanted.numbers.begin(), wanted.numbers.end(), [&](const Range& range) {
           return range.first <= number && number <= range.second;
         });
}

bool NamePattern::matches(std::string_view name) const {
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    const std::size_t slash = std::min(name.find('/'), name.size());
    const auto split = split_name(name.substr(0, slash));
    if (!split || !matches(i, split->first, split->second)) {
      return false;
    }
    name.remove_prefix(std::min(slash + 1, name.size()));
  }
  return name.empty();
}

NamePattern NamePattern::tail() const {
  NamePattern rest;
  rest.segments_.assign(segments_.begin() + 1, segments_.end());
  return rest;
}

}  // namespace twinrun
