#pragma once

#include "cli/verb.h"

namespace twinrun::cli {

// The subverbs of topo, one file each.
Run add_topo_export(CLI::App& app);
Run add_topo_import(CLI::App& app);
Run add_topo_list(CLI::App& app);
Run add_topo_paths(CLI::App& app);
Run add_topo_show(CLI::App& app);
Run add_topo_validate(CLI::App& app);

}  // namespace twinrun::cli
