#include "core/io/nccl_graph.h"

#include <algorithm>
#include <set>

namespace twinrun {

void fuse_broadcom_switches(std::vector<NcclVertex>& vertices) {
  std::set<std::size_t> done;
  for (std::size_t top = 0; top < vertices.size(); ++top) {
    const int generation = broadcom_generation(vertices[top].pci_ids, 0);
    if (vertices[top].kind != VertexKind::kPcieSwitch || vertices[top].removed || generation == 0) {
      continue;
    }
    std::set<std::size_t> fused;
    for (std::size_t sub = top + 1; sub < vertices.size(); ++sub) {  // children come later
      NcclVertex& vertex = vertices[sub];
      if (fused.contains(vertex.parent)) {
        vertex.parent = top;
        done.insert(sub);  // moved up once: not fused again
      } else if (vertex.parent == top && vertex.kind == VertexKind::kPcieSwitch &&
                 !done.contains(sub) && broadcom_generation(vertex.pci_ids, 1) == generation) {
        vertex.removed = true;
        fused.insert(sub);
        vertices[top].id += "+" + vertex.id;
      }
    }
  }
}

std::string name_from_file(std::string_view text) {
  std::string name(
      text.substr(text.rfind('/') == std::string_view::npos ? 0 : text.rfind('/') + 1));
  if (name.size() > 4 && name.ends_with(".xml")) {
    name.resize(name.size() - 4);
  }
  for (char& c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    c = letter || c == '.' || c == '_' ? c : '-';
  }
  name.erase(0, std::min(name.find_first_not_of("-._"), name.size()));
  return name.empty() ? "imported" : name;
}

}  // namespace twinrun
