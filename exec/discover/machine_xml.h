#pragma once

#include <string>

#include "core/base/diagnostics.h"
#include "core/base/units.h"
#include "exec/discover/machine.h"

namespace twinrun::exec {

// Ports without InfiniBand or RoCE carry this latency in the XML, by which they are known again.
inline constexpr Time kTcpLatency = microseconds(12);

// The machine as NCCL writes it down (NCCL_TOPO_DUMP_FILE): GPUs, network adapters and the switches
// between them and their processors. What looks wrong about it is warned about (W022x).
std::string nccl_xml_of(const Machine& machine, Diagnostics& diagnostics);

}  // namespace twinrun::exec
