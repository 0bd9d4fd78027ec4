#pragma once

#include <string>

#include "cli/context.h"
#include "core/base/diagnostics.h"
#include "core/io/nccl_xml.h"
#include "core/topology/spec.h"
#include "exec/discover/machine.h"

namespace twinrun::cli {

// A machine that was looked at, as a file and as any user would read that: with what the catalogue
// knows of its devices.
struct DescribedMachine {
  std::string text;
  TopologySpec spec;
};

// InputError when what leaves here would not be a good file.
DescribedMachine describe_machine(Context& context,
                                  const exec::Machine& machine,
                                  const ImportOptions& options,
                                  Diagnostics& diagnostics);

}  // namespace twinrun::cli
