#pragma once

#include <optional>
#include <string>

#include "core/base/diagnostics.h"
#include "core/base/units.h"
#include "core/io/source.h"
#include "core/topology/spec.h"

namespace twinrun {

// What an NCCL topology file may leave open.
struct ImportOptions {
  std::string name;                   // of the topology; default: the file's name
  std::string gpu_device;             // --gpu: what every GPU is, a name of the catalogue
  std::optional<Bandwidth> nic_rate;  // --nic: of NICs whose speed the file does not say
  std::string assume_bridge;          // --assume-bridge gen5x16: for bridges below 1 GB/s
  bool may_be_bare = false;           // without GPUs and NICs it is a topology too
};

// Reads an NCCL topology (NCCL_TOPO_DUMP_FILE, NCCL_TOPO_FILE): one node of one flat template, with
// the bandwidths NCCL itself would work with, and everything dubious warned about (W02xx). Throws
// InputError (E031x) when the text is not such a file, UsageError for an unknown assume_bridge.
[[nodiscard]] TopologySpec import_nccl_xml(const Source& source,
                                           const ImportOptions& options,
                                           Diagnostics& diagnostics);

// Writes one node as an NCCL topology; reading it again gives the same graph. What the format
// cannot say is warned about (W031x). Throws InputError (E0319) when there is more than one node or
// a nested template.
[[nodiscard]] std::string export_nccl_xml(const TopologySpec& spec, Diagnostics& diagnostics);

}  // namespace twinrun
