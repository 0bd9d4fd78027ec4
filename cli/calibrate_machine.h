#pragma once

#include <string>

#include "cli/context.h"
#include "cli/output.h"

namespace twinrun::cli {

struct MachineArguments {
  std::string backend;
  std::string out;
  int processes = 2;         // of mpi
  bool one_machine = false;  // the processes' hosts stand on one machine, whatever their names
  bool quick = false;
  bool force = false;
};

// Measures this machine through a backend and writes it as a topology.
Output calibrate_machine(Context& context, const MachineArguments& arguments);

}  // namespace twinrun::cli
