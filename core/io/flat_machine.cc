#include "core/io/flat_machine.h"

#include <cstdint>
#include <map>

#include "core/topology/name_pattern.h"
#include "core/topology/node_shape.h"

namespace twinrun {
namespace {

std::vector<std::uint32_t> find_vertices(const FlatMachine& machine,
                                         const std::vector<std::string>& patterns) {
  std::vector<std::uint32_t> found;
  for (const std::string& text : patterns) {
    const auto pattern = NamePattern::parse(text);
    for (std::uint32_t i = 0; pattern && i < machine.vertices.size(); ++i) {
      const FlatVertex& vertex = machine.vertices[i];
      if (pattern->matches(0, vertex.part, static_cast<std::int64_t>(vertex.index))) {
        found.push_back(i);
      }
    }
  }
  return found;
}

void add_links(FlatMachine& machine, const LinkSpec& link) {
  const auto pairs =
      pair_up(find_vertices(machine, link.from), find_vertices(machine, link.to), link.pairing);
  if (!pairs) {
    return;  // the loader's expansion complains about it
  }
  for (const auto& [from, to] : *pairs) {
    machine.edges.push_back({from, to, &link});
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
  for (const LinkSpec& link : machine.links) {
    add_links(flat, link);
  }
  return flat;
}

}  // namespace twinrun
