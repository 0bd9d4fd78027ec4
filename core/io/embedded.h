#pragma once

#include <span>
#include <string_view>

namespace twinrun {

// A file of the repository that the program carries inside itself.
struct EmbeddedFile {
  std::string_view name;  // path from the repository's root
  std::string_view text;
};

std::span<const EmbeddedFile> embedded_topologies();  // topologies/*.json
std::span<const EmbeddedFile> embedded_schemas();     // core/io/schemas/*.json
std::span<const EmbeddedFile> embedded_cases();       // traces/published/*.json

}  // namespace twinrun
