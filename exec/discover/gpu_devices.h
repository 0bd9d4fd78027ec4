#pragma once

#include <optional>
#include <string>

#include "core/topology/spec.h"
#include "exec/discover/machine.h"

namespace twinrun::exec {

// A device of its own for a GPU that was taken for one of the catalogue but has clearly another
// amount of memory: a variant of it, or a part of one in a virtual machine. Nothing where the
// catalogue's will do, or where it has none.
std::optional<DeviceSpec> device_unlike_catalogue(const DriverGpu& gpu,
                                                  const std::string& taken_for);

}  // namespace twinrun::exec
