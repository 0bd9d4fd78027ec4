#pragma once

#include <vector>

#include "core/plan/plan.h"
#include "exec/mpi/device_homes.h"

namespace twinrun::exec {

// What stands for a device of a plan here.
struct DevicePlace {
  bool is_here = false;  // in this process
  bool is_host = false;  // memory and threads of the host; its streams are the GPU's below
  int gpu = 0;           // CUDA's number
};

// A process, and the GPUs that it sees.
struct GpuProcess {
  int gpus = 0;
  int rank = 0;
  int processes = 1;
  int local_rank = 0;  // among those of its machine, whose ranks are neighbours
};

// By device. Devices that are named gpu… are GPUs, all others hosts; of a plan that has no such
// name those that compute or take part in collectives are GPUs. They are taken in order: gpu0 is
// device 0; of several processes of a machine each has those that come after the ones before it, or
// all that it sees when that is as many as it needs. CannotRun when there are not so many.
std::vector<DevicePlace> device_places(const Plan& plan,
                                       const DeviceHomes& homes,
                                       const GpuProcess& process);

}  // namespace twinrun::exec
