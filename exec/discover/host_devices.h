#pragma once

#include "core/topology/spec.h"
#include "exec/discover/machine.h"

namespace twinrun::exec {

// The processors and memory of a host as devices of a topology. What nobody measured is guessed,
// and says so.
DeviceSpec processor_device(const Machine& machine, const NumaNode& node);  // all cores of a node
DeviceSpec core_device(const Machine& machine, const NumaNode& node);       // one core of it
DeviceSpec memory_device(const Machine& machine, const NumaNode& node);

// Between the memory and one core, and all of them.
Bandwidth copy_of_one(const NumaNode& node);
Bandwidth copy_of_all(const NumaNode& node);
std::string source_of_copies(const NumaNode& node);

}  // namespace twinrun::exec
