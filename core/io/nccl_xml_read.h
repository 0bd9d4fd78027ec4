#pragma once

#include "core/base/diagnostics.h"
#include "core/io/nccl_graph.h"
#include "core/io/nccl_xml.h"
#include "core/io/source.h"

namespace twinrun {

// The XML as a graph, in the order of the file and with NCCL's bandwidths. Throws InputError with
// all E031x of the file.
[[nodiscard]] NcclGraph read_nccl_xml(const Source& source,
                                      const ImportOptions& options,
                                      Diagnostics& diagnostics);

}  // namespace twinrun
