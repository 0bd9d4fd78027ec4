#include "core/io/flat_machine.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/io/index_pattern.h"

namespace twinrun {
namespace {

using Totals = std::vector<std::pair<std::string, std::size_t>>;

std::vector<std::size_t> find_vertices(const FlatMachine& machine,
                                       const Totals& totals,
                                       const std::vector<std::string>& patterns) {
  std::vector<std::size_t> found;
  for (const std::string& pattern : patterns) {
    const auto [part, indices] = expand_index_pattern(pattern, totals);
    for (const std::size_t index : indices) {
      for (std::size_t i = 0; i < machine.vertices.size(); ++i) {
        if (machine.vertices[i].part == part && machine.vertices[i].index == index) {
          found.push_back(i);
        }
      }
    }
  }
  return found;
}

void add_links(FlatMachine& machine, const Totals& totals, const LinkSpec& link) {
  const std::vector<std::size_t> from = find_vertices(machine, totals, link.from);
  const std::vector<std::size_t> to = find_vertices(machine, totals, link.to);
  std::set<std::pair<std::size_t, std::size_t>> seen;
  for (std::size_t i = 0; i < from.size(); ++i) {
    for (std::size_t j = 0; j < to.size(); ++j) {
      const bool paired = link.pairing == Pairing::kAll || j == i * to.size() / from.size();
      if (paired && from[i] != to[j] && seen.insert(std::minmax(from[i], to[j])).second) {
        machine.edges.push_back({from[i], to[j], &link});
      }
    }
  }
}

}  // namespace

FlatMachine flatten(const TemplateSpec& machine) {
  FlatMachine flat;
  std::map<std::string, std::size_t> counts;
  for (const PartSpec& part : machine.parts) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(part.count); ++i) {
      flat.vertices.push_back({part.name, counts[part.name]++, part.kind, part.device,
                               i < part.ids.size() ? part.ids[i] : std::string()});
    }
  }
  const Totals totals(counts.begin(), counts.end());
  for (const LinkSpec& link : machine.links) {
    add_links(flat, totals, link);
  }
  return flat;
}

}  // namespace twinrun
