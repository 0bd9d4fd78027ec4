#include "core/io/index_pattern.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace twinrun {
namespace {

bool same_figures(const LinkSpec& a, const LinkSpec& b) {
  return a.kind == b.kind && a.bandwidth == b.bandwidth && a.line_rate == b.line_rate &&
         a.latency == b.latency && a.count == b.count && a.duplex == b.duplex &&
         a.source == b.source;
}

// A number at the front of the text, which it is removed from.
std::optional<std::size_t> take_number(std::string_view& text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value > 1'000'000) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

}  // namespace

void LinkList::add(End from, End to, LinkSpec figures) {
  for (Group& group : groups_) {
    if (group.part == from.part && group.to.part == to.part && group.to.index == to.index &&
        same_figures(group.figures, figures)) {
      group.from.push_back(from.index);
      return;
    }
  }
  groups_.push_back({std::move(figures), from.part, from.total, {from.index}, std::move(to)});
}

std::vector<LinkSpec> LinkList::finish() const {
  std::vector<LinkSpec> links;
  for (const Group& group : groups_) {
    LinkSpec link = group.figures;
    std::vector<std::size_t> from = group.from;
    std::sort(from.begin(), from.end());
    link.from = {index_pattern(group.part, from, group.total)};
    link.to = {index_pattern(group.to.part, {group.to.index}, 0)};
    links.push_back(std::move(link));
  }
  return links;
}

std::string index_pattern(std::string_view part,
                          const std::vector<std::size_t>& indices,
                          std::size_t total) {
  if (indices.size() == 1) {
    return fmt::format("{}{}", part, indices.front());
  }
  if (indices.size() == total) {
    return fmt::format("{}*", part);
  }
  std::string runs;
  for (std::size_t i = 0; i < indices.size();) {
    std::size_t last = i;
    while (last + 1 < indices.size() && indices[last + 1] == indices[last] + 1) {
      ++last;
    }
    runs += runs.empty() ? "" : ",";
    runs +=
        last == i ? fmt::format("{}", indices[i]) : fmt::format("{}-{}", indices[i], indices[last]);
    i = last + 1;
  }
  return fmt::format("{}[{}]", part, runs);
}

std::pair<std::string, std::vector<std::size_t>> expand_index_pattern(
    std::string_view pattern, const std::vector<std::pair<std::string, std::size_t>>& totals) {
  const std::size_t split = std::min(pattern.find_first_of("0123456789*["), pattern.size());
  std::pair<std::string, std::vector<std::size_t>> out{std::string(pattern.substr(0, split)), {}};
  std::string_view rest = pattern.substr(split);
  if (rest == "*") {
    for (const auto& [part, total] : totals) {
      for (std::size_t i = 0; part == out.first && i < total; ++i) {
        out.second.push_back(i);
      }
    }
    return out;
  }
  const bool bracketed = rest.starts_with('[') && rest.ends_with(']');
  if (bracketed) {
    rest = rest.substr(1, rest.size() - 2);
  }
  while (!rest.empty()) {
    const auto first = take_number(rest);
    auto last = first;
    if (first && bracketed && rest.starts_with('-')) {
      rest.remove_prefix(1);
      last = take_number(rest);
    }
    const bool more = bracketed && rest.starts_with(',');
    if (!first || !last || (!rest.empty() && !more)) {
      return {out.first, {}};
    }
    for (std::size_t i = *first; i <= *last; ++i) {
      out.second.push_back(i);
    }
    rest.remove_prefix(more ? 1 : 0);
  }
  return out;
}

}  // namespace twinrun
