#pragma once

#include "core/base/diagnostics.h"
#include "core/io/nccl_xml.h"
#include "core/io/source.h"
#include "core/topology/spec.h"
#include "exec/discover/machine.h"

namespace twinrun::exec {

// A machine as a topology of one node. With GPUs these are its devices, as in the machines of
// topologies/; without, the cores are, as in topologies/cpu.json. The graph of PCI devices is the
// one that NCCL would see: `xml` is nccl_xml_of(machine), named as complaints about it shall be.
// Every number says where it comes from; what is dubious is warned about (W02xx).
[[nodiscard]] TopologySpec topology_of(const Machine& machine,
                                       const Source& xml,
                                       const ImportOptions& options,
                                       Diagnostics& diagnostics);

}  // namespace twinrun::exec
