#pragma once

#include <memory>
#include <string>

#include "exec/transport.h"

namespace twinrun::exec {

// The file with the plugin: beside the program, or where an installation has it; "" when there is
// none.
std::string find_mpi_plugin();

// Opens the plugin and joins the other processes. BackendMissing with a sentence when either cannot
// be done.
std::unique_ptr<Transport> open_mpi();

}  // namespace twinrun::exec
