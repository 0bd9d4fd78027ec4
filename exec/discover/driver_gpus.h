#pragma once

#include <vector>

#include "exec/cuda/gpu_runtime.h"
#include "exec/discover/machine.h"

namespace twinrun::exec {

// What CUDA says of GPUs, added to what is known of them already. Afterwards they are in CUDA's
// order, so that gpu0 is the device 0 of a run; those that it was told not to see come last. Who
// reaches whom is asked for only where it is not known, since it makes a context on every GPU.
std::vector<DriverGpu> with_gpus_of_cuda(std::vector<DriverGpu> known, GpuRuntime& runtime);

// GPUs of the driver that /sys does not show, as in a guest of Windows, become PCI devices of which
// nothing more is known.
void add_unseen_gpus(Machine& machine);

// Everything that a driver says, in place of what files say of it; the machine as it was without
// one. Adds who was asked to the readers.
void ask_driver(Machine& machine);

}  // namespace twinrun::exec
