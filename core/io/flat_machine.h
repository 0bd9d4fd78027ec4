#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/topology/spec.h"

namespace twinrun {

// A template without nested ones, with every vertex and link written out: what formats that know no
// patterns are written from.
struct FlatVertex {
  std::string part;
  std::size_t index = 0;  // gpu3
  VertexKind kind = VertexKind::kGpu;
  std::string device;
  std::string id;  // "" when the part has no ids
};

struct FlatLink {
  std::size_t from = 0;  // into the vertices
  std::size_t to = 0;
  const LinkSpec* link = nullptr;  // of the template, which must live as long
};

struct FlatMachine {
  std::vector<FlatVertex> vertices;
  std::vector<FlatLink> edges;
};

[[nodiscard]] FlatMachine flatten(const TemplateSpec& machine);

}  // namespace twinrun
