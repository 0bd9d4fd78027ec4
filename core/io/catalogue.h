#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/io/source.h"

namespace twinrun {

// The machines and devices the program carries inside itself: the files of topologies/.
std::vector<std::string> catalogue_topology_names();  // in alphabetical order
std::optional<Source> catalogue_topology(const std::string& name);
Source catalogue_devices();

// A file named in a complaint, whether on disk or inside the program.
std::optional<Source> find_source_again(const std::string& file);

}  // namespace twinrun
