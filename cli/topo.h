#pragma once

#include "cli/verb.h"
#include "core/topology/topology.h"

namespace twinrun::cli {

// The subverbs of topo, one file each.
Run add_topo_discover(CLI::App& app);
Run add_topo_export(CLI::App& app);
Run add_topo_import(CLI::App& app);
Run add_topo_list(CLI::App& app);
Run add_topo_paths(CLI::App& app);
Run add_topo_show(CLI::App& app);
Run add_topo_validate(CLI::App& app);

// What show says of a topology: its totals, trees and matrices.
Output show_topology(const Topology& topology);

}  // namespace twinrun::cli
