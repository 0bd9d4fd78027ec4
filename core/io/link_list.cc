#include "core/io/link_list.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace twinrun {
namespace {

bool same_figures(const LinkSpec& a, const LinkSpec& b) {
  return a.kind == b.kind && a.bandwidth == b.bandwidth && a.line_rate == b.line_rate &&
         a.latency == b.latency && a.count == b.count && a.duplex == b.duplex &&
         a.source == b.source;
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

}  // namespace twinrun
