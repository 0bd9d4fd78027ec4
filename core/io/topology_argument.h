#pragma once

#include <string>

#include "core/base/diagnostics.h"
#include "core/io/json_document.h"
#include "core/topology/spec.h"

namespace twinrun {

// What people write for a topology, on the command line or in a job:
//   dgx-a100                                        a machine of the catalogue
//   cluster.json, -                                 a file, standard input
//   dgx-a100:nodes=16,fabric=rail-optimized         a catalogue machine with changes
//   single-switch:hosts=1024,bandwidth=12.5GB/s     plain hosts on a fabric
TopologySpec read_topology_argument(const std::string& argument, Diagnostics& diagnostics);

}  // namespace twinrun
