#pragma once

#include "cli/calibrate_machine.h"
#include "cli/context.h"
#include "cli/output.h"

namespace twinrun::cli {

// Measures the GPUs of this machine and writes what topo discover finds with their numbers in it.
// BackendMissing, with the backend's own sentence, when there are none.
Output calibrate_gpus(Context& context, const MachineArguments& arguments);

}  // namespace twinrun::cli
